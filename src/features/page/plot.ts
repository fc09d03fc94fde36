import { html, raw } from "hono/html";
import { OUTCOMES } from "../../kernel/exchange/reasons.ts";
import { counted } from "../../kernel/exchange/json-value.ts";
import { humanLatency } from "../../platform/humanize.ts";
import type { UpstreamFacts } from "../status/status.ts";
import { type Column, type Columns, type Range, spanOf } from "../history/timeline.ts";
import { STATE_WORDS, whyWords } from "../history/words.ts";
import type { Markup } from "../../http/markup/markup.ts";
import { shapesOf, type Kind, KINDS, pathOf, rounded, STRIP_HEIGHT } from "./plot-kinds.ts";
import { type Scale, scaleFor, ticksOf } from "./plot-scale.ts";
import { clockTime } from "../../http/markup/wording.ts";
import type { Incident } from "../history/incidents.ts";

/** The same range of time at the same moment: the same axis, whatever is drawn on it. */
export type TimeAxis = { readonly range: Range; readonly nowMs: number };

export type Drawn = Pick<UpstreamFacts, "name" | "objective" | "degradedAboveMs"> & {
  readonly seen: Columns;
  readonly incidents: readonly Incident[];
};

export type PlotSize = {
  /** Of the latencies above the strip, in pixels; without it there is the strip alone. */
  readonly latencyHeight?: number;
  readonly stripHeight: number;
  /** Each column says in words what it shows. */
  readonly isTold?: boolean;
  /** The page that has the incidents in full; empty for this one. */
  readonly incidentsAt: string;
};

const PADDING = 6;
/** Between latencies and strip. */
const GAP = 8;
/** Of a column, between two bars. */
const BAR_GAP = 0.18;
/** Where the plot ends and the words beside it begin. */
const SIDE_WIDTH = 48;
const TIMES_HEIGHT = 18;
const EDGE_PERCENT = 8;
/** Nobody looked for twice as long as between two polls on the average: seldom polls, seen often, leave no holes. */
const HOLE_GAPS = 2;

/** Over the whole width: latencies, the outcomes below them, what was an incident and what was not watched. */
export function plot(all: Drawn, axis: TimeAxis, size: PlotSize): Markup {
  const { latencyHeight, stripHeight } = size;
  const place = placesOf(axis);
  const drawn = { ...all, seen: within(all.seen, place) };
  const holes = holesOf(drawn, place);
  const stripTop = latencyHeight === undefined ? 0 : latencyHeight + GAP;
  const height = stripTop + stripHeight;
  const scale = latencyHeight === undefined ? undefined : scaleOf(drawn, latencyHeight);
  const below = [
    ...holes.map(([fromMs, toMs]) => place.box("unwatched", fromMs, toMs, 0, height)),
    ...place.ticks.map(({ x }) => `<line class="tick" x1="${x}%" x2="${x}%" y1="0" y2="${height}"/>`),
    ...(scale === undefined ? [] : latencies(drawn, holes, scale, place, latencyHeight ?? 0)),
    `<line class="base" x1="0" x2="100%" y1="${height - 0.5}" y2="${height - 0.5}"/>`,
    `<svg y="${stripTop}" height="${stripHeight}" viewBox="0 0 ${place.columns} ${STRIP_HEIGHT}" preserveAspectRatio="none">${strip(drawn, place)}</svg>`,
    ...(size.isTold === true ? told(drawn, place, stripTop, stripHeight) : []),
  ];
  return html`<div class="plot">
    <svg class="drawing" height="${height}" role="group" aria-label="${summary(drawn, axis)}">
      ${raw(below.join(""))}
      ${drawn.incidents.map((incident) => shade(incident, place, size.incidentsAt, stripTop || height))}
    </svg>
    ${scale === undefined ? "" : raw(side(scale, height))}
  </div>`;
}

/** The times below a plot, or below many on the same axis. */
export function times(axis: TimeAxis, hasSide: boolean): Markup {
  const words = placesOf(axis).ticks.map(({ x, words: text }, index) => {
    // There is no room for half of it.
    if (x < EDGE_PERCENT || x > 100 - EDGE_PERCENT) return "";
    return `<text class="${index % 2 === 0 ? "even" : "odd"}" x="${x}%" y="13" text-anchor="middle">${text}</text>`;
  });
  return raw(
    `<div class="plot times" aria-hidden="true"><svg class="drawing" height="${TIMES_HEIGHT}">${words.join("")}</svg>${hasSide ? `<svg class="side" width="${SIDE_WIDTH}" height="${TIMES_HEIGHT}"><text x="8" y="13">UTC</text></svg>` : ""}</div>`,
  );
}

/** What the lines are. Names of lines, and latencies from the config. */
export function legendLine(className: string, words: string): string {
  return `<li><svg width="22" height="8" aria-hidden="true"><path class="${className}" d="M0 4h22"/></svg> ${words}</li>`;
}

export function latencyLegend({ seen, objective }: Drawn): Markup {
  const [middle, high] = seen.areQuantiles ? ["p50", "p95"] : ["the mean", "the longest"];
  const items = [
    legendLine("curve", middle),
    legendLine("band", `up to ${high}`),
    legendLine("objective", `objective ${humanLatency(objective.latencyMs)}`),
  ];
  return raw(`<ul class="legend lines" aria-label="Latency of ok polls">${items.join("")}</ul>`);
}

type Places = {
  readonly fromMs: number;
  readonly toMs: number;
  readonly nowMs: number;
  /** Within the drawings that are stretched, a column is one wide. */
  readonly columns: number;
  readonly ticks: readonly { readonly x: number; readonly words: string }[];
  /** In columns. */
  at(ms: number): number;
  box(className: string, fromMs: number, toMs: number, y: number, height: number, inside?: string): string;
};

function placesOf({ range, nowMs }: TimeAxis): Places {
  const { fromMs, toMs } = spanOf(range, nowMs);
  const at = (ms: number): number =>
    rounded((Math.min(toMs, Math.max(fromMs, ms)) - fromMs) / range.columnMs);
  const percentAt = (ms: number): number => rounded((at(ms) * range.columnMs * 100) / (toMs - fromMs));
  return {
    fromMs,
    toMs,
    nowMs,
    columns: range.lengthMs / range.columnMs,
    ticks: ticksOf(fromMs, toMs).map(({ atMs, words }) => ({ x: percentAt(atMs), words })),
    at,
    box: (className, startMs, endMs, y, height, inside = "") =>
      `<rect class="${className}" x="${percentAt(startMs)}%" width="${rounded(percentAt(endMs) - percentAt(startMs))}%" y="${y}" height="${height}">${inside}</rect>`,
  };
}

function within(seen: Columns, { fromMs, toMs }: Places): Columns {
  const { columnMs, columns } = seen;
  const shown = columns.filter(({ index }) => (index + 1) * columnMs > fromMs && index * columnMs < toMs);
  return { ...seen, columns: shown };
}

type Hole = readonly [fromMs: number, toMs: number];

/** Where nobody looked for longer than the schedule said then. What a poll watched may have begun long before its column. */
function holesOf({ seen }: Drawn, { fromMs, toMs, nowMs }: Places): readonly Hole[] {
  const { columnMs, columns } = seen;
  const gapsMs = gapsBefore(columns);
  const ends = [fromMs, ...columns.map(({ index }) => (index + 1) * columnMs)];
  const starts = [
    ...columns.map(({ index, watchedMs }) => (index + 1) * columnMs - Math.max(columnMs, watchedMs)),
    nowMs,
  ];
  return ends
    .map((endMs, place): Hole => [endMs, starts[place] ?? nowMs])
    .filter(
      ([startMs, endMs], place) => endMs - startMs >= Math.max(columnMs, HOLE_GAPS * (gapsMs[place] ?? 0)),
    )
    .map(([holeFromMs, holeToMs]) => [holeFromMs, holeToMs === nowMs ? toMs : holeToMs]);
}

/** Between two polls, before each column and after the last: as each poll watched the time since the one before it. */
function gapsBefore(columns: readonly Column[]): readonly number[] {
  const own = columns.map(({ counts, watchedMs }) => watchedMs / (counts.ok + counts.failed));
  const gapsMs = [own.find(Number.isFinite) ?? 0];
  for (const [place, gapMs] of own.entries())
    gapsMs.push(Number.isFinite(gapMs) ? gapMs : (gapsMs[place] ?? 0));
  return gapsMs;
}

function scaleOf({ seen, objective }: Drawn, height: number): Scale {
  const shown = seen.columns.flatMap(({ latency }) => (latency ? [latency.middleMs, latency.highMs] : []));
  return scaleFor([...shown, objective.latencyMs], height, PADDING);
}

/** Widths are in percent, so the plot fills any screen without stretching its lines. */
function latencies(
  { seen, objective }: Drawn,
  holes: readonly Hole[],
  { y, gridMs }: Scale,
  place: Places,
  height: number,
): readonly string[] {
  const line = (className: string, ms: number): string =>
    `<line class="${className}" x1="0" x2="100%" y1="${y(ms)}" y2="${y(ms)}"/>`;
  let [band, curve, dots, end] = ["", "", "", ""];
  for (const run of runsOf(seen, holes)) {
    const at = (of: "middleMs" | "highMs"): readonly string[] =>
      run.map(({ index, latency }) => `${place.at((index + 0.5) * seen.columnMs)} ${y(latency[of])}`);
    const middle = at("middleMs");
    curve += `M${middle.join("L")}`;
    band += `M${[...at("highMs"), ...middle.toReversed()].join("L")}z`;
    end = `M${middle.at(-1)}h0`;
    // A line of one point is not seen.
    if (run.length === 1) dots += end;
  }
  return [
    ...gridMs.map((ms) => line("grid", ms)),
    `<svg height="${height}" viewBox="0 0 ${place.columns} ${height}" preserveAspectRatio="none"><path class="band" d="${band}"/><path class="curve" d="${curve}"/><path class="dots" d="${dots}${end}"/></svg>`,
    line("objective", objective.latencyMs),
  ];
}

type OkColumn = Column & { readonly latency: NonNullable<Column["latency"]> };

/** Columns with an ok poll and nothing between them but time in which no poll was due. */
function runsOf({ columns, columnMs }: Columns, holes: readonly Hole[]): readonly (readonly OkColumn[])[] {
  const runs: OkColumn[][] = [];
  let run: OkColumn[] = [];
  for (const column of columns) {
    const { latency } = column;
    if (latency === undefined || holes.some(([, toMs]) => toMs === column.index * columnMs)) run = [];
    if (latency !== undefined && run.push({ ...column, latency }) === 1) runs.push(run);
  }
  return runs;
}

/** One path for each kind. */
function strip({ seen, degradedAboveMs }: Drawn, place: Places): string {
  const paths = new Map<Kind, string>();
  for (const column of seen.columns) {
    const [from, to] = [place.at(column.index * seen.columnMs), place.at((column.index + 1) * seen.columnMs)];
    const gap = Math.min(BAR_GAP, to - from) / 2;
    for (const [kind, boxes] of shapesOf(column, degradedAboveMs)) {
      const path = pathOf(rounded(from + gap), rounded(to - from - 2 * gap), boxes);
      paths.set(kind, (paths.get(kind) ?? "") + path);
    }
  }
  return [...paths].map(([kind, path]) => `<path class="${kind}" d="${path}"/>`).join("");
}

/** What hovering over a column shows. */
function told({ seen }: Drawn, place: Places, y: number, height: number): readonly string[] {
  const { columnMs } = seen;
  return seen.columns.map((column) => {
    const [fromMs, toMs] = [column.index * columnMs, (column.index + 1) * columnMs];
    const title = `<title>${columnWords(column, seen, place.nowMs)}</title>`;
    return place.box("hover", fromMs, toMs, y, height, title);
  });
}

/** `17:40:00 UTC: 37 ok, 3 failed; p50 100 ms, p95 131 ms, longest 140 ms` */
function columnWords(
  { index, counts, latency }: Column,
  { columnMs, areQuantiles }: Columns,
  nowMs: number,
): string {
  const told = `${clockTime(index * columnMs, nowMs)}: ${countsInWords(counts)}`;
  if (latency === undefined) return told;
  const middle = `${areQuantiles ? "p50" : "mean"} ${humanLatency(latency.middleMs)}`;
  const high = areQuantiles ? `, p95 ${humanLatency(latency.highMs)}` : "";
  return `${told}; ${middle}${high}, longest ${humanLatency(latency.longestMs)}`;
}

function countsInWords(counts: Column["counts"]): string {
  const some = OUTCOMES.filter((outcome) => counts[outcome] > 0);
  return some.map((outcome) => `${counts[outcome]} ${KINDS[outcome].words}`).join(", ");
}

/** `ai-router, the last 1 h: 52 ok, 8 failed; 2 incidents` */
function summary({ name, seen, incidents }: Drawn, { range, nowMs }: TimeAxis): string {
  const { fromMs } = spanOf(range, nowMs);
  const counts = { ok: 0, failed: 0, throttled: 0, rejected: 0, ours: 0 };
  for (const column of seen.columns)
    for (const outcome of OUTCOMES) counts[outcome] += column.counts[outcome];
  const shown = incidents.filter(({ endedAtMs }) => (endedAtMs ?? nowMs) > fromMs).length;
  const words = countsInWords(counts) || "no polls";
  return `${name}, the last ${range.words}: ${words}${shown === 0 ? "" : `; ${counted(shown, "incident")}`}`;
}

/** Leads to the incident in full. */
function shade(incident: Incident, place: Places, incidentsAt: string, height: number): Markup | string {
  const { nowMs } = place;
  const { state, startedAtMs, endedAtMs = nowMs } = incident;
  if (endedAtMs < place.fromMs) return "";
  const { what, why } = incidentWords(incident);
  const words = `${what}${why}, since ${clockTime(startedAtMs, nowMs)}`;
  const kind = incident.reason === "offline" ? "offline" : state;
  const box = raw(place.box(`incident ${kind}`, startedAtMs, incident.endedAtMs ?? place.toMs, 0, height));
  const title = html`<title>${words}</title>`;
  return html`<a href="${incidentsAt}#${incidentId(incident)}" aria-label="${words}">${title}${box}</a>`;
}

export function incidentWords(incident: Incident): { readonly what: string; readonly why: string } {
  const { state, reason } = incident;
  if (reason === "offline") return { what: "We were offline", why: "" };
  return { what: STATE_WORDS[state].title, why: reason === "" ? "" : `: ${whyWords(incident)}` };
}

/** Within the page of its upstream. */
export function incidentId({ startedAtMs }: Incident): string {
  return `incident-${Math.round(startedAtMs)}`;
}

function side({ y, gridMs }: Scale, height: number): string {
  const marks = gridMs.map((ms) => `<text x="8" y="${y(ms) + 3.5}">${humanLatency(ms)}</text>`);
  return `<svg class="side" width="${SIDE_WIDTH}" height="${height}" aria-hidden="true">${marks.join("")}</svg>`;
}
