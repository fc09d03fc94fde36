/** A report in words: sentences and tables, which each format writes in its own way. */

import type { BadUnit, Sla } from "../config/config.ts";
import { happenedPhases } from "../exchange/exchange.ts";
import { reasonWords } from "../exchange/reasons.ts";
import { humanLatency } from "../status/humanize.ts";
import type { PollStatus } from "../status/status.ts";
import { STATE_WORDS } from "../status/words.ts";
import { inThousands } from "../text/thousands.ts";
import { dateTime } from "../time/civil-day.ts";
import { DAY_MS, formatDuration, HOUR_MS, MINUTE_MS, SECOND_MS } from "../time/duration.ts";
import { HOW } from "./how.ts";
import type { Report, ReportedIncident, ReportedMonth, UpstreamReport } from "./report.ts";

/** `said` is what an upstream wrote: text from strangers. A number has its plain value too, and the unit of that. */
export type Cell =
  | string
  | { readonly said: readonly string[] }
  | { readonly text: string; readonly value: number | undefined; readonly unit: "" | "ms" | "ratio" };

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

function summary({ atMs, upstreams }: Report): readonly Block[] {
  const rows = upstreams.map((upstream) => [
    upstream.upstream,
    ratio(upstream.watched),
    ratio(upstream.availability),
    upstream.months.length === 1 ? providerRatio(upstream.months[0]) : "see below",
    count(upstream.incidents.filter(({ isOutage }) => isOutage).length),
    creditsIn(upstream),
  ]);
  return [
    { kind: "paragraph", text: `Written by Pacewatch on ${dateTime(atMs)}. ${HOW.report}` },
    {
      kind: "table",
      title: "In short",
      how: HOW.short,
      columns: ["Upstream", "Watched", "Availability", "As the provider counts", "Outages", "Credit"],
      rows: rows.map((row, place) => (upstreams[place]?.sla === undefined ? row.with(3, NOT_SAID) : row)),
    },
  ];
}

/** What nobody watched counts as good, but of nothing there is nothing to say. */
function providerRatio(month: ReportedMonth | undefined): Cell {
  return ratio(month?.watchedMinutes === 0 ? undefined : month?.availability);
}

const NOT_SAID = "not configured";

function creditsIn({ sla, months }: UpstreamReport): string {
  const due = months.flatMap(({ month, credit }) =>
    credit === undefined ? [] : [`${month}: ${percent(credit)}`],
  );
  return sla === undefined ? NOT_SAID : due.length === 0 ? "none" : due.join(", ");
}

function blocksOf(upstream: UpstreamReport): readonly Block[] {
  const { sla, incidents, timeZone, fromMs, toMs } = upstream;
  return [
    {
      kind: "paragraph",
      text: `From ${dateTime(fromMs)} to ${dateTime(toMs)}: days of ${timeZone}. Polled ${upstream.schedule}.`,
    },
    figures(upstream),
    ...(sla === undefined ? [] : [providerTable(sla, upstream.months)]),
    ...(incidents.length === 0
      ? [{ kind: "paragraph", text: "No incident in this period." } as const]
      : [incidentTable(incidents), evidenceTable(incidents)]),
    dayTable(upstream),
  ];
}

function figures(upstream: UpstreamReport): Table {
  const { lengthMs, watchedMs, watched, ok, failed, withinObjective, latencyObjectiveMs } = upstream;
  const within = ok === 0 ? undefined : withinObjective / ok;
  const rows: readonly (readonly [string, Cell, string])[] = [
    ["Length of the period", time(lengthMs), HOW.lengthMs],
    ["Watched", time(watchedMs), HOW.watchedMs],
    ["Watched, as a part", ratio(watched), HOW.watched],
    ["Polls that were ok", count(ok), HOW.ok],
    ["Polls that failed", count(failed), HOW.failed],
    ["Availability", ratio(upstream.availability), HOW.availability],
    ["Left out: throttled", count(upstream.throttled), HOW.throttled],
    ["Left out: our key or permission", count(upstream.rejected), HOW.rejected],
    ["Left out: we were offline", count(upstream.offline), HOW.offline],
    ["Left out: other faults of ours", count(upstream.otherOurs), HOW.otherOurs],
    ["Left out: not watched", time(Math.max(0, lengthMs - watchedMs)), HOW.unwatched],
    ["Mean latency", latency(upstream.meanMs), HOW.meanMs],
    ["Slowest", latency(upstream.slowestMs), HOW.slowestMs],
    [`Within ${formatDuration(latencyObjectiveMs)}`, ratio(within), HOW.withinObjective],
    ...(upstream.hoursWithoutMinutes === 0
      ? []
      : [["Hours without minutes", count(upstream.hoursWithoutMinutes), HOW.hoursWithoutMinutes] as const]),
  ];
  return {
    kind: "table",
    title: "Figures",
    how: undefined,
    columns: ["Figure", "Value", "How it was computed"],
    rows,
  };
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
  const paid = credits.map(({ below, credit }) => `${percent(credit)} below ${percent(below)}`).join(", ");
  const claim =
    claimWithinMs === undefined
      ? ""
      : ` A claim must be made within ${formatDuration(claimWithinMs)} of the end of the month.`;
  return {
    kind: "table",
    title: "As the provider counts",
    how: `A minute is bad in which ${badUnitWords(badUnit)}. Promised: ${percent(atLeast)}.${paid === "" ? "" : ` Credits: ${paid}.`}${claim} ${HOW.months}`,
    columns: [
      "Month",
      "Minutes",
      "Watched",
      "Bad",
      "Availability",
      "Of those watched",
      "Promise",
      "Credit",
      "Claim until",
    ],
    rows: months.map((month) => [
      month.month,
      count(month.minutes),
      count(month.watchedMinutes),
      count(month.badMinutes),
      ratio(month.availability),
      ratio(month.availabilityOfWatched),
      month.watchedMinutes === 0
        ? "not watched"
        : `${month.isKept ? "kept" : "missed"}${month.isOver ? "" : " so far"}${month.isWhole ? "" : " in these days"}`,
      month.isWhole && month.isOver
        ? month.credit === undefined
          ? "none"
          : ratio(month.credit)
        : "not worked out",
      month.claimUntilMs === undefined ? "–" : dateTime(month.claimUntilMs),
    ]),
  };
}

function incidentTable(incidents: readonly ReportedIncident[]): Table {
  return {
    kind: "table",
    title: "Incidents",
    how: HOW.incidents,
    columns: ["No.", "From", "To", "Lasted", "In this period", "What", "Why", "Polls", "Counts as"],
    rows: incidents.map((incident, place) => [
      String(place + 1),
      dateTime(incident.fromMs),
      endOf(incident),
      time(incident.durationMs),
      time(incident.inPeriodMs),
      STATE_WORDS[incident.state].title,
      reasonWords(incident.reason),
      count(incident.polls),
      incident.isOutage ? "outage" : "left out",
    ]),
  };
}

function endOf({ toMs, seenAtMs, isUnwatched }: ReportedIncident): string {
  if (toMs === undefined) return `not over when seen last, ${dateTime(seenAtMs)}`;
  return `${dateTime(toMs)}${isUnwatched ? ", then no longer watched" : ""}`;
}

function evidenceTable(incidents: readonly ReportedIncident[]): Table {
  const rows = incidents.flatMap(({ evidence }, place) =>
    evidence.map((poll) => evidenceRow(place + 1, poll)),
  );
  return {
    kind: "table",
    title: "Evidence",
    how: HOW.evidence,
    columns: ["Incident", "Sent", "Outcome", "Status", "Took", "Phases", "Request ids", "What came back"],
    rows,
  };
}

function evidenceRow(incident: number, poll: PollStatus): readonly Cell[] {
  const ids = (poll.headers ?? []).flatMap(({ name, value }) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
  const phases = happenedPhases(poll.phasesMs).map(({ phase, ms }) => `${phase} ${humanLatency(ms)}`);
  return [
    String(incident),
    dateTime(poll.atMs),
    reasonWords(poll.reason),
    poll.status === undefined ? "none" : String(poll.status),
    latency(poll.durationMs),
    phases.join(", "),
    { said: ids },
    { said: [poll.detail, poll.excerpt ?? ""].filter((text) => text !== "") },
  ];
}

function dayTable({ days, sla }: UpstreamReport): Table {
  const isLong = days.length > MOST_DAYS_SHOWN;
  const columns = [
    "Watched",
    "Ok",
    "Failed",
    "Availability",
    "Throttled",
    "Rejected",
    "Ours",
    "Mean latency",
    "Slowest",
  ];
  return {
    kind: "table",
    title: "Day by day",
    how: `${HOW.days}${isLong ? ` Of more than ${MOST_DAYS_SHOWN} days, those are left out here on which all was watched and ok: they are in the JSON.` : ""}`,
    columns: ["Day", ...columns, ...(sla === undefined ? [] : ["Bad minutes"])],
    rows: days
      .filter(({ failed, watchedMs, fromMs, toMs }) => !isLong || failed > 0 || watchedMs < toMs - fromMs)
      .map((day) => [
        day.day,
        time(day.watchedMs),
        count(day.ok),
        count(day.failed),
        ratio(day.availability),
        count(day.throttled),
        count(day.rejected),
        count(day.offline + day.otherOurs),
        latency(day.meanMs),
        latency(day.slowestMs),
        ...(day.badMinutes === undefined ? [] : [count(day.badMinutes)]),
      ]),
  };
}

const THIN_SPACE = "\u202f";
const UNKNOWN = "–";

function count(amount: number): Cell {
  return { text: inThousands(amount, THIN_SPACE), value: amount, unit: "" };
}

/** Rounded down: 99.99996 % is not 100 %. */
function percent(part: number): string {
  return `${Math.floor(part * 1e6 + 1e-6) / 1e4} %`;
}

function ratio(part: number | undefined): Cell {
  return { text: part === undefined ? UNKNOWN : percent(part), value: part, unit: "ratio" };
}

function latency(ms: number | undefined): Cell {
  return { text: ms === undefined ? UNKNOWN : humanLatency(ms), value: ms, unit: "ms" };
}

/** To the second, as a provider counts it: `1 h 3 min 20 s`. */
function time(ms: number): Cell {
  const parts = [
    [Math.floor(ms / DAY_MS), "d"],
    [Math.floor((ms % DAY_MS) / HOUR_MS), "h"],
    [Math.floor((ms % HOUR_MS) / MINUTE_MS), "min"],
    [Math.floor((ms % MINUTE_MS) / SECOND_MS), "s"],
  ] as const;
  const text = parts.flatMap(([amount, unit]) => (amount === 0 ? [] : [`${amount} ${unit}`])).join(" ");
  return { text: text === "" ? "0 s" : text, value: ms, unit: "ms" };
}
