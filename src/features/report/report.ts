/** From what is kept and the config to what a report says: numbers and times, in no words yet. */

import type { Upstream, Vantage } from "../../kernel/config/config.ts";
import type { Sla } from "./config.ts";
import { UNITS_OF_MONEY } from "../../platform/money.ts";
import { rowOf } from "../../kernel/exchange/reasons.ts";
import { EVIDENCE_POLLS, type Incident, OUTCOME_OF } from "../history/incidents.ts";
import { availabilityOf } from "../history/availability.ts";
import { MINUTE_MS } from "../../kernel/time/duration.ts";
import type { Month, Period, Span } from "./period.ts";
import type { PollStatus } from "../history/kept-poll.ts";

/** What of an upstream's config a report needs. */
export type Reported = Pick<Upstream, "budgets" | "labels"> & {
  readonly name: string;
  readonly method: string;
  /** Secrets in it are the names of their variables. */
  readonly url: string;
  readonly schedule: string;
  readonly latencyObjectiveMs: number;
  readonly sla: Sla | undefined;
};

/** What the state file has of one day, added up of its hours. */
export const NOTHING = {
  polls: 0,
  ok: 0,
  failed: 0,
  throttled: 0,
  rejected: 0,
  offline: 0,
  withinObjective: 0,
  okMs: 0,
  slowestMs: 0,
  watchedMs: 0,
  failedMs: 0,
  watchedMinutes: 0,
  badMinutes: 0,
};
export type Figures = Readonly<typeof NOTHING>;
export const FIGURES: readonly (keyof Figures)[] = Object.keys(NOTHING).filter(
  (key): key is keyof Figures => key in NOTHING,
);

export type KeptIncident = Incident & {
  readonly evidence: readonly PollStatus[];
  /** When it was written last. */
  readonly seenAtMs: number;
};

/** Of a month, as far as it is in the report. */
export type KeptCost = {
  readonly month: string;
  readonly currency: string;
  /** So many had a price. */
  readonly polls: number;
  readonly units: number;
};

/** Of one upstream, in one file. */
export type Kept = {
  /** In the places of the period's days, as far as there are some of them. */
  readonly days: readonly (Figures | undefined)[];
  readonly costs: readonly KeptCost[];
  /** Read anew each time: those of all upstreams, with their evidence, take more memory than all else. */
  readonly incidents: () => readonly KeptIncident[];
};

export type Sums = Omit<Figures, "polls" | "okMs" | "slowestMs" | "badMinutes"> & {
  /** Undefined if nothing was watched. */
  readonly availability: number | undefined;
  /** Suspended, no memory, a bug of ours. */
  readonly otherOurs: number;
  /** Of ok polls: their mean, and the slowest. */
  readonly meanMs: number | undefined;
  readonly slowestMs: number | undefined;
  /** By the provider's own way to count; undefined where the config tells none. */
  readonly badMinutes: number | undefined;
};

export type ReportedDay = Sums & Range & { readonly day: string };

export type ReportedMonth = Omit<Month, "name"> & {
  readonly month: string;
  readonly isOver: boolean;
  /** All that have begun: what nobody watched counts as good. */
  readonly minutes: number;
  readonly watchedMinutes: number;
  readonly badMinutes: number;
  readonly availability: number;
  /** Undefined where no minute was watched. */
  readonly availabilityOfWatched: number | undefined;
  readonly isKept: boolean;
  /** Undefined for none, and for a month that is not over or not wholly in the report. */
  readonly credit: number | undefined;
  readonly claimUntilMs: number | undefined;
};

export type ReportedIncident = Pick<
  KeptIncident,
  "state" | "reason" | "polls" | "reasons" | "evidence" | "seenAtMs"
> & {
  /** When the first poll was sent that shows it; when that ended where it is not kept. */
  readonly fromMs: number;
  /** The end of the first ok poll. Undefined if it was not over when it was seen last. */
  readonly toMs: number | undefined;
  /** Nobody watched any more. */
  readonly isUnwatched: boolean;
  readonly durationMs: number;
  /** The part of it that lies in the period. */
  readonly inPeriodMs: number;
  /** Whether its polls count as failed. */
  readonly isOutage: boolean;
};

export type ReportedCost = Pick<KeptCost, "month" | "currency" | "polls"> & { readonly amount: number };

/** Incidents and days are worked out anew each time: of all upstreams together they would be most of the memory. */
export type UpstreamReport = Sums &
  Omit<Reported, "name"> &
  Omit<Period, "days" | "months"> & {
    readonly upstream: string;
    /** How much of the period is over. */
    readonly lengthMs: number;
    readonly watched: number;
    readonly months: readonly ReportedMonth[];
    readonly costs: readonly ReportedCost[];
    /** The oldest first. */
    readonly incidents: readonly ReportedIncident[];
    readonly days: readonly ReportedDay[];
  };

export function isEmpty({ watchedMs, incidents }: Pick<UpstreamReport, "watchedMs" | "incidents">): boolean {
  return watchedMs === 0 && incidents.length === 0;
}

export type Report = {
  readonly version: 1;
  readonly atMs: number;
  /** From where the upstreams were watched; absent where nobody else watches. */
  readonly vantage?: Vantage | undefined;
  readonly upstreams: readonly UpstreamReport[];
};

export function reportedOf(upstream: Upstream): Reported {
  const { name, method = "GET", url, budgets, labels, schedule, objective, sla } = upstream;
  const same = { name, method, url, budgets, labels, sla };
  return { ...same, schedule: schedule.source, latencyObjectiveMs: objective.latencyMs };
}

export function upstreamReport(
  upstream: Reported,
  kept: readonly Kept[],
  period: Period,
  nowMs: number,
): UpstreamReport {
  const { name, sla, ...same } = upstream;
  // Of several files, each may have hours of the same day.
  const figures = period.days.map((_, place) => added(kept.flatMap(({ days }) => days[place] ?? [])));
  const overMs = ({ fromMs, toMs }: Range): number => Math.max(0, Math.min(toMs, nowMs) - fromMs);
  const sumsIn = (range: Range): Sums => {
    const isIn = ({ fromMs, toMs }: Range): boolean => fromMs >= range.fromMs && toMs <= range.toMs;
    const those = figures.filter((_, place) => isIn(period.days[place] ?? period));
    return sumsOf(added(those), overMs(range), upstream);
  };
  const all = sumsIn(period);
  const lengthMs = overMs(period);
  return {
    upstream: name,
    ...same,
    timeZone: period.timeZone,
    fromMs: period.fromMs,
    toMs: period.toMs,
    lengthMs,
    ...all,
    watched: lengthMs === 0 ? 0 : all.watchedMs / lengthMs,
    sla,
    months: sla === undefined ? [] : period.months.map((month) => monthOf(month, sumsIn(month), sla, nowMs)),
    costs: costsIn(kept.flatMap(({ costs }) => costs)),
    get incidents() {
      return joined(kept.flatMap((each) => each.incidents()))
        .toSorted((one, other) => one.startedAtMs - other.startedAtMs)
        .map((incident) => incidentOf(incident, period, nowMs))
        .filter(({ fromMs, durationMs }) => fromMs < period.toMs && fromMs + durationMs >= period.fromMs);
    },
    get days() {
      return period.days.map(({ name: day, ...range }, place) => ({
        day,
        ...range,
        ...sumsOf(figures[place] ?? NOTHING, overMs(range), upstream),
      }));
    },
  };
}

/** One that another process went on with is in the files of both: whoever saw it last knows how it ended. */
function joined(incidents: readonly KeptIncident[]): readonly KeptIncident[] {
  const alike = Map.groupBy(incidents, ({ startedAtMs }) => startedAtMs);
  return [...alike.values()].flatMap((some) => {
    const last = some.reduce((one, other) => (other.seenAtMs > one.seenAtMs ? other : one));
    if (some.length === 1) return last;
    const polls = Math.max(...some.map((each) => each.polls));
    const evidence = some.flatMap((each) => each.evidence).sort((one, other) => one.atMs - other.atMs);
    const firstKept = EVIDENCE_POLLS - 1;
    return {
      ...last,
      polls,
      evidence: [...evidence.slice(0, firstKept), ...evidence.slice(firstKept).slice(-1)],
    };
  });
}

type Range = Pick<Span, "fromMs" | "toMs">;

function added(all: readonly Figures[]): Figures {
  const [first = NOTHING, ...more] = all;
  if (more.length === 0) return first;
  const sums = { ...NOTHING };
  for (const each of all)
    for (const figure of FIGURES)
      sums[figure] =
        figure === "slowestMs" ? Math.max(sums[figure], each[figure]) : sums[figure] + each[figure];
  return sums;
}

/** A poll that ends early in a range may have watched the time before it too. */
function sumsOf(
  { polls, okMs, slowestMs, badMinutes, watchedMs, failedMs, ...figures }: Figures,
  lengthMs: number,
  { sla }: Reported,
): Sums {
  const { ok, failed, throttled, rejected, offline } = figures;
  return {
    ...figures,
    watchedMs: Math.min(lengthMs, watchedMs),
    failedMs: Math.min(lengthMs, failedMs),
    availability: availabilityOf(lengthMs, { watchedMs, failedMs }).ratio,
    otherOurs: polls - ok - failed - throttled - rejected - offline,
    meanMs: ok === 0 ? undefined : okMs / ok,
    slowestMs: ok === 0 ? undefined : slowestMs,
    badMinutes: sla && badMinutes,
  };
}

/** Of several files, one for each month and currency. */
function costsIn(costs: readonly KeptCost[]): readonly ReportedCost[] {
  const alike = Map.groupBy(costs, ({ month, currency }) => `${month} ${currency}`);
  return [...alike.values()].flatMap((some) => {
    const [first] = some;
    if (first === undefined) return [];
    const { month, currency } = first;
    const units = some.reduce((sum, each) => sum + each.units, 0);
    const polls = some.reduce((sum, each) => sum + each.polls, 0);
    return [{ month, currency, polls, amount: units / UNITS_OF_MONEY }];
  });
}

function monthOf(
  month: Month,
  { badMinutes = 0, watchedMinutes }: Sums,
  sla: Sla,
  nowMs: number,
): ReportedMonth {
  const { name, ...span } = month;
  const { fromMs, toMs, isWhole } = span;
  const isOver = toMs <= nowMs;
  // A poll in the minute that is not over counts as well.
  const minutes = Math.ceil((Math.min(toMs, nowMs) - fromMs) / MINUTE_MS);
  // 1 - 0.07 is less than 0.93: a quotient of whole numbers is as exact as what the config says.
  const availability = minutes === 0 ? 1 : (minutes - badMinutes) / minutes;
  const due = sla.credits
    ?.filter(({ below }) => availability < below)
    .sort((one, other) => one.below - other.below);
  const credit = isWhole && isOver ? due?.[0]?.credit : undefined;
  return {
    month: name,
    ...span,
    isOver,
    minutes,
    watchedMinutes,
    badMinutes,
    availability,
    availabilityOfWatched: watchedMinutes === 0 ? undefined : (watchedMinutes - badMinutes) / watchedMinutes,
    isKept: availability >= sla.atLeast,
    credit,
    claimUntilMs:
      credit === undefined || sla.claimWithinMs === undefined ? undefined : toMs + sla.claimWithinMs,
  };
}

function incidentOf(incident: KeptIncident, { fromMs, toMs }: Period, nowMs: number): ReportedIncident {
  const { state, reason, polls, reasons, evidence, seenAtMs } = incident;
  const { startedAtMs, endedAtMs, isUnwatched = false } = incident;
  const first = evidence.find(({ outcome, atMs }) => outcome === OUTCOME_OF[state] && atMs <= startedAtMs);
  const begunMs = first?.atMs ?? startedAtMs;
  const untilMs = Math.max(begunMs, endedAtMs ?? Math.min(seenAtMs, nowMs));
  return {
    state,
    reason,
    polls,
    reasons,
    evidence,
    fromMs: begunMs,
    toMs: endedAtMs,
    seenAtMs,
    isUnwatched,
    durationMs: untilMs - begunMs,
    inPeriodMs: Math.max(0, Math.min(untilMs, toMs) - Math.max(begunMs, fromMs)),
    isOutage: state === "down" && rowOf(reason)?.outcome !== "ours",
  };
}
