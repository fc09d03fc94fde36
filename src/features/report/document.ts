/** A report in words: sentences and tables, which each format writes in its own way. */

import type { BadUnit, Sla } from "./config.ts";
import { formatMoney, UNITS_OF_MONEY } from "../../platform/money.ts";
import { happenedPhases } from "../../kernel/exchange/exchange.ts";
import { reasonWords } from "../../kernel/exchange/reasons.ts";
import { availabilityOf, type AvailabilityWindow, watchedWords } from "../history/availability.ts";
import { UNITS, humanDuration, humanLatency, inThousands } from "../../platform/humanize.ts";
import { STATE_WORDS, whyWords } from "../history/words.ts";
import { formatPercentage } from "../../kernel/text/percent.ts";
import { dateTime } from "../../kernel/time/civil-day.ts";
import { formatDuration, MINUTE_MS } from "../../kernel/time/duration.ts";
import { HOW } from "./how.ts";
import {
  isEmpty,
  type Report,
  type ReportedCost,
  type ReportedDay,
  type ReportedIncident,
  type ReportedMonth,
  type UpstreamReport,
} from "./report.ts";

/** `said` is what an upstream wrote: text from strangers. */
export type Cell = string | { readonly said: readonly string[] } | Figure;

/** A number, in words only where somebody reads them: programs get its plain value and the unit of that. */
export type Figure = {
  readonly value: number | undefined;
  readonly way: Way;
  /** Follows the words: so little was watched that it is no verdict. */
  readonly early?: string;
};

type Way = { readonly unit: "" | "ms" | "ratio"; readonly text: (value: number) => string };

export function figureText({ value, way, early }: Figure): string {
  if (value === undefined) return UNKNOWN;
  return early === undefined ? way.text(value) : `${way.text(value)} ${early}`;
}

export type Table = {
  readonly kind: "table";
  readonly title: string;
  /** Undefined where each row says it in its last cell. */
  readonly how: string | undefined;
  readonly columns: readonly string[];
  /** The first cell names the row. */
  readonly rows: readonly (readonly Cell[])[];
};

export type Block = { readonly kind: "paragraph"; readonly text: string } | Table;

/** The first part is about all upstreams, and each further one about one of them. */
export type Part = { readonly title: string; readonly blocks: readonly Block[] };

/** Longer periods are told by the month. */
const MOST_DAYS_SHOWN = 92;

export function* documentOf(report: Report): Generator<Part> {
  yield { title: titleOf(report), blocks: summary(report) };
  for (const upstream of report.upstreams) yield { title: upstream.upstream, blocks: blocksOf(upstream) };
}

function titleOf({ upstreams: [first, ...more] }: Report): string {
  const [from, to] = [first?.days[0]?.day, first?.days.at(-1)?.day];
  const about =
    first === undefined || more.length > 0 ? `${more.length + (first ? 1 : 0)} upstreams` : first.upstream;
  return from === undefined
    ? `Report on ${about}`
    : `Report on ${about}, ${from === to ? from : `${from} to ${String(to)}`}`;
}

type Column<Of> = readonly [title: string, cellOf: (of: Of, place: number) => Cell];

function tableOf<Of>(
  title: string,
  how: string | undefined,
  all: readonly Of[],
  columns: readonly Column<Of>[],
): Table {
  return {
    kind: "table",
    title,
    how,
    columns: columns.map(([column]) => column),
    rows: all.map((each, place) => columns.map(([, cellOf]) => cellOf(each, place))),
  };
}

function summary({ atMs, vantage, upstreams }: Report): readonly Block[] {
  const month = dateTime(atMs).slice(0, "2026-11".length);
  const nothing = ` Nothing was watched in this period. This month is --month ${month} (or ?month=${month}).`;
  const watched = vantage === undefined ? "" : ` Watched from ${vantage.name}, one of ${vantage.of} places.`;
  const text = `Written by Pacewatch on ${dateTime(atMs)}.${watched} ${HOW.report}${upstreams.every(isEmpty) ? nothing : ""}`;
  return [
    { kind: "paragraph", text },
    tableOf("In short", HOW.short, upstreams, [
      ["Upstream", ({ upstream }) => upstream],
      ["Watched", ({ watched }) => ratio(watched)],
      ["Availability", availabilityIn],
      ["As the provider counts", providerRatio],
      ["Outages", ({ incidents }) => count(incidents.filter(({ isOutage }) => isOutage).length)],
      ["Credit", creditsIn],
      ["Polls cost", ({ costs }) => costsIn(costs)],
    ]),
  ];
}

/** What nobody watched counts as good, but of nothing there is nothing to say. */
function providerRatio({ sla, months: [month, ...more] }: UpstreamReport): Cell {
  if (sla === undefined) return NOT_SAID;
  if (more.length > 0) return "see below";
  return month === undefined ? ratio(undefined) : availabilityOfMonth(month);
}

function availabilityOfMonth(month: ReportedMonth): Figure {
  const { watchedMinutes, availability } = month;
  if (watchedMinutes === 0) return ratio(undefined);
  const { isEarly, watchedMs } = watchedIn(month);
  const figure = ratio(availability);
  return isEarly ? { ...figure, early: `(${humanDuration(watchedMs)} watched)` } : figure;
}

function watchedIn({ minutes, watchedMinutes, badMinutes }: ReportedMonth): AvailabilityWindow {
  const [watchedMs, failedMs] = [watchedMinutes * MINUTE_MS, badMinutes * MINUTE_MS];
  return availabilityOf(minutes * MINUTE_MS, { watchedMs, failedMs });
}

const NOT_SAID = "not configured";
const NOT_WORKED_OUT = "not worked out";

function isWorkedOut({ isWhole, isOver }: ReportedMonth): boolean {
  return isWhole && isOver;
}

function creditsIn({ sla, months }: UpstreamReport): string {
  const due = months.flatMap(({ month, credit }) =>
    credit === undefined ? [] : [`${month}: ${percent(credit)}`],
  );
  if (sla === undefined) return NOT_SAID;
  if (due.length > 0) return due.join(", ");
  return months.some(isWorkedOut) ? "none" : NOT_WORKED_OUT;
}

function costsIn(costs: readonly ReportedCost[]): string {
  const byCurrency = Map.groupBy(costs, ({ currency }) => currency);
  const sums = [...byCurrency].map(
    ([currency, some]) =>
      `${figureText(money(some.reduce((sum, { amount }) => sum + amount, 0)))} ${currency}`,
  );
  return sums.length === 0 ? "no price" : sums.join(", ");
}

function blocksOf(upstream: UpstreamReport): readonly Block[] {
  const { sla, incidents, timeZone, fromMs, toMs, lengthMs, costs } = upstream;
  const untilMs = fromMs + lengthMs;
  const isOpen = lengthMs === 0 ? ", which has not begun" : `, so far until ${dateTime(untilMs)}`;
  const soFar = untilMs < toMs ? isOpen : "";
  return [
    {
      kind: "paragraph",
      text: `From ${dateTime(fromMs)} to ${dateTime(toMs)}${soFar}: days of ${timeZone}. Polled ${upstream.schedule}.`,
    },
    figures(upstream),
    ...(sla === undefined ? [] : [providerTable(sla, upstream.months)]),
    ...(incidents.length === 0
      ? [{ kind: "paragraph", text: "No incident in this period." } as const]
      : [incidentTable(incidents), evidenceTable(incidents)]),
    ...(costs.length === 0 ? [] : [costTable(costs)]),
    dayTable(upstream),
  ];
}

function figures(upstream: UpstreamReport): Table {
  const { lengthMs, watchedMs, failedMs, watched, ok, failed, withinObjective, latencyObjectiveMs } =
    upstream;
  const within = ok === 0 ? undefined : withinObjective / ok;
  const labels = Object.entries(upstream.labels)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ");
  const rows: readonly (readonly [name: string, figure: Cell, how: string])[] = [
    ["Request", `${upstream.method} ${upstream.url}`, HOW.request],
    ["Budget", upstream.budgets.join(", "), HOW.budgets],
    ...(labels === "" ? [] : [["Labels", labels, HOW.labels] as const]),
    ["Length of the period", time(lengthMs), HOW.lengthMs],
    ["Watched", time(watchedMs), HOW.watchedMs],
    ["Watched, as a part", ratio(watched), HOW.watched],
    ["Failed", time(failedMs), HOW.failedMs],
    ["Polls that were ok", count(ok), HOW.ok],
    ["Polls that failed", count(failed), HOW.failed],
    ["Availability", availabilityIn(upstream), HOW.availability],
    ["Left out: throttled", count(upstream.throttled), HOW.throttled],
    ["Left out: our key or permission", count(upstream.rejected), HOW.rejected],
    ["Left out: we were offline", count(upstream.offline), HOW.offline],
    ["Left out: other faults of ours", count(upstream.otherOurs), HOW.otherOurs],
    ["Left out: not watched", time(Math.max(0, lengthMs - watchedMs)), HOW.unwatched],
    ["Mean latency", latency(upstream.meanMs), HOW.meanMs],
    ["Slowest", latency(upstream.slowestMs), HOW.slowestMs],
    [`Within ${formatDuration(latencyObjectiveMs)}`, ratio(within), HOW.withinObjective],
  ];
  return tableOf("Figures", undefined, rows, [
    ["Figure", ([name]) => name],
    ["Value", ([, figure]) => figure],
    ["How it was computed", ([, , how]) => how],
  ]);
}

function badUnitWords(badUnit: BadUnit): string {
  if (badUnit === "all_failed") return "all polls that were ok or failed have failed";
  if (badUnit === "any_failed") return "any poll has failed";
  return `at least ${badUnit.failures} polls have failed`;
}

function providerTable(
  { atLeast, badUnit, credits = [], claimWithinMs }: Sla,
  months: readonly ReportedMonth[],
): Table {
  const paid = credits
    .map(({ below, credit }) => `${formatPercentage(credit)} below ${formatPercentage(below)}`)
    .join(", ");
  const claim =
    claimWithinMs === undefined
      ? ""
      : ` A claim must be made within ${formatDuration(claimWithinMs)} of the end of the month.`;
  const how = `A minute is bad in which ${badUnitWords(badUnit)}. Promised: ${formatPercentage(atLeast)}.${paid === "" ? "" : ` Credits: ${paid}.`}${claim} ${HOW.months}`;
  return tableOf("As the provider counts", how, months, [
    ["Month", ({ month }) => month],
    ["Minutes", ({ minutes }) => count(minutes)],
    ["Watched", ({ watchedMinutes }) => count(watchedMinutes)],
    ["Bad", ({ badMinutes }) => count(badMinutes)],
    ["Availability", availabilityOfMonth],
    ["Of those watched", ({ availabilityOfWatched }) => ratio(availabilityOfWatched)],
    ["Promise", promiseOf],
    [
      "Credit",
      (month) => {
        if (!isWorkedOut(month)) return NOT_WORKED_OUT;
        return month.credit === undefined ? "none" : ratio(month.credit);
      },
    ],
    ["Claim until", ({ claimUntilMs }) => (claimUntilMs === undefined ? UNKNOWN : dateTime(claimUntilMs))],
  ]);
}

/** Enough bad minutes break it, however little was watched; a few good ones do not show that it was kept. */
function promiseOf(month: ReportedMonth): string {
  const { watchedMinutes, isKept, isOver, isWhole } = month;
  if (watchedMinutes === 0) return "not watched";
  if (isKept && watchedIn(month).isEarly) return "too little watched";
  return `${isKept ? "kept" : "missed"}${isOver ? "" : " so far"}${isWhole ? "" : " in these days"}`;
}

function incidentTable(incidents: readonly ReportedIncident[]): Table {
  return tableOf("Incidents", HOW.incidents, incidents, [
    ["No.", (_, place) => String(place + 1)],
    ["From", ({ fromMs }) => dateTime(fromMs)],
    ["To", endOf],
    ["Lasted", ({ durationMs }) => time(durationMs)],
    ["In this period", ({ inPeriodMs }) => time(inPeriodMs)],
    ["What", ({ state }) => STATE_WORDS[state].title],
    ["Why", whyWords],
    ["Polls", ({ polls }) => count(polls)],
    ["Counts as", ({ isOutage }) => (isOutage ? "outage" : "left out")],
  ]);
}

function endOf({ toMs, seenAtMs, isUnwatched }: ReportedIncident): string {
  if (toMs === undefined) return `not over when seen last, ${dateTime(seenAtMs)}`;
  return `${dateTime(toMs)}${isUnwatched ? ", then no longer watched" : ""}`;
}

function evidenceTable(incidents: readonly ReportedIncident[]): Table {
  const polls = incidents.flatMap(({ evidence }, place) =>
    evidence.map((poll) => ({ ...poll, incident: place + 1 })),
  );
  return tableOf("Evidence", HOW.evidence, polls, [
    ["Incident", ({ incident }) => String(incident)],
    ["Sent", ({ atMs }) => dateTime(atMs)],
    ["Outcome", ({ reason }) => reasonWords(reason)],
    ["Status", ({ status }) => (status === undefined ? "none" : String(status))],
    ["Took", ({ durationMs }) => latency(durationMs)],
    [
      "Phases",
      ({ phasesMs }) =>
        happenedPhases(phasesMs)
          .map(({ phase, ms }) => `${phase} ${humanLatency(ms)}`)
          .join(", "),
    ],
    [
      "Request ids",
      ({ headers = [] }) => ({
        said: headers.flatMap(({ name, value }) => (value === undefined ? [] : [`${name}: ${value}`])),
      }),
    ],
    [
      "What came back",
      ({ detail, excerpt = "" }) => ({ said: [detail, excerpt].filter((text) => text !== "") }),
    ],
  ]);
}

function costTable(costs: readonly ReportedCost[]): Table {
  return tableOf("What the polls cost", HOW.costs, costs, [
    ["Month", ({ month }) => month],
    ["Cost", ({ amount }) => money(amount)],
    ["Currency", ({ currency }) => currency],
    ["Polls with a price", ({ polls }) => count(polls)],
  ]);
}

function dayTable({ days, sla, fromMs: startMs, lengthMs }: UpstreamReport): Table {
  const begun = days.filter(({ fromMs }) => fromMs < startMs + lengthMs);
  const firstPolled = begun.findIndex(
    (day) => day.ok + day.failed + day.throttled + day.rejected + day.offline + day.otherOurs > 0,
  );
  const isLong = days.length > MOST_DAYS_SHOWN;
  const how = `${HOW.days}${isLong ? ` Of more than ${MOST_DAYS_SHOWN} days, those are left out here on which all was watched and ok: they are in the JSON.` : ""}`;
  const shown = begun
    .slice(Math.max(0, firstPolled))
    .filter(({ failed, watchedMs, fromMs, toMs }) => !isLong || failed > 0 || watchedMs < toMs - fromMs);
  const columns: readonly Column<UpstreamReport["days"][number]>[] = [
    ["Day", ({ day }) => day],
    ["Watched", ({ watchedMs }) => time(watchedMs)],
    ["Failed for", ({ failedMs }) => time(failedMs)],
    ["Ok", ({ ok }) => count(ok)],
    ["Failed", ({ failed }) => count(failed)],
    ["Availability", availabilityIn],
    ["Throttled", ({ throttled }) => count(throttled)],
    ["Rejected", ({ rejected }) => count(rejected)],
    ["Ours", ({ offline, otherOurs }) => count(offline + otherOurs)],
    ["Mean latency", ({ meanMs }) => latency(meanMs)],
    ["Slowest", ({ slowestMs }) => latency(slowestMs)],
    ["Bad minutes", ({ badMinutes = 0 }) => count(badMinutes)],
  ];
  return tableOf("Day by day", how, shown, sla === undefined ? columns.slice(0, -1) : columns);
}

const UNKNOWN = "–";

function figuresAs(way: Way): (value: number | undefined) => Figure {
  return (value) => ({ value, way });
}

const count = figuresAs({ unit: "", text: (amount) => inThousands(amount) });
const ratio = figuresAs({ unit: "ratio", text: percent });
const money = figuresAs({
  unit: "",
  text: (amount) => formatMoney(Math.round(amount * UNITS_OF_MONEY)),
});
const latency = figuresAs({ unit: "ms", text: humanLatency });
const time = figuresAs({ unit: "ms", text: wholeSeconds });

/** The same as on the page of the upstream. */
function availabilityIn(sums: Pick<ReportedDay, "fromMs" | "toMs" | "watchedMs" | "failedMs">): Figure {
  const window = availabilityOf(sums.toMs - sums.fromMs, sums);
  return marked(ratio(window.ratio), window);
}

function marked(figure: Figure, window: AvailabilityWindow): Figure {
  return window.isEarly ? { ...figure, early: watchedWords(window) } : figure;
}

/** Rounded down: 99.996 % is not 100 %. What is more than nothing is not 0 %. */
function percent(part: number): string {
  const hundredths = Math.floor(part * 1e4 + 1e-6);
  return part > 0 && hundredths === 0 ? "below 0.01 %" : `${hundredths / 100} %`;
}

/** As a provider counts it: `1 h 3 min 20 s`. */
function wholeSeconds(ms: number): string {
  let leftMs = ms;
  const parts = UNITS.map(([unitMs, unit]) => {
    const amount = Math.floor(leftMs / unitMs);
    leftMs %= unitMs;
    return amount === 0 ? "" : `${amount} ${unit}`;
  });
  return parts.filter((part) => part !== "").join(" ") || "0 s";
}
