import { html, raw } from "hono/html";
import { humanLatency } from "../../core/status/humanize.ts";
import type { PollStatus, UpstreamFacts } from "../../core/status/status.ts";
import { columnOf, COLUMNS } from "./plot-strip.ts";
import type { Markup } from "./markup.ts";

const PADDING = 5;
const AXIS_WIDTH = 52;
const EMPTY_HEIGHT = 44;

type Level = { readonly className: "p50" | "p95" | "objective"; readonly words: string; readonly ms: number };

/** The latencies of the ok polls, in the same columns as the strip above, with lines for p50, p95 and the objective. */
export function latencyPlot({ lastPolls, latency, objective }: UpstreamFacts, height: number): Markup {
  const polls = lastPolls.slice(-COLUMNS);
  const okMs = polls.flatMap((poll) => (poll.outcome === "ok" ? [poll.durationMs] : []));
  if (latency === undefined) return emptyPlot(objective.latencyMs);
  const levels: readonly Level[] = [
    { className: "p50", words: "p50", ms: latency.p50Ms },
    { className: "p95", words: "p95", ms: latency.p95Ms },
    { className: "objective", words: "objective", ms: objective.latencyMs },
  ];
  const scale = scaleFor([...okMs, ...levels.map(({ ms }) => ms)], height, PADDING);
  return html`<figure class="latency">
    ${raw(drawing(polls, levels, scale, height) + axis(scale, height))}
    <figcaption>
      ${levels.map(legendItem)}
      <span class="of">of ${latency.polls === 1 ? "1 ok poll" : `${latency.polls} ok polls`}</span>
    </figcaption>
  </figure>`;
}

function emptyPlot(objectiveMs: number): Markup {
  return html`<figure class="latency">
    ${raw(`<svg class="plot" height="${EMPTY_HEIGHT}" aria-hidden="true"><line class="objective" x1="0" x2="100%" y1="12" y2="12"/><line class="base" x1="0" x2="100%" y1="${EMPTY_HEIGHT - 1}" y2="${EMPTY_HEIGHT - 1}"/></svg>`)}
    <figcaption>
      No latency yet: none of the last polls was ok.
      ${legendItem({ className: "objective", words: "objective", ms: objectiveMs })}
    </figcaption>
  </figure>`;
}

function legendItem({ className, words, ms }: Level): Markup {
  return html`<span class="level"
    >${raw(`<svg width="22" height="8" aria-hidden="true"><line class="${className}" x1="0" x2="22" y1="4" y2="4"/></svg>`)}
    ${words} <b>${humanLatency(ms)}</b></span
  > `;
}

/** Widths are in percent, so the plot fills any screen without stretching its lines. */
function drawing(
  polls: readonly PollStatus[],
  levels: readonly Level[],
  { y, gridMs }: Scale,
  height: number,
): string {
  const line = (className: string, ms: number): string =>
    `<line class="${className}" x1="0" x2="100%" y1="${y(ms)}" y2="${y(ms)}"/>`;
  const grid = gridMs.map((ms) => line("grid", ms)).join("");
  const lines = levels.map(({ className, ms }) => line(className, ms)).join("");
  const summary = levels.map(({ words, ms }) => `${words} ${humanLatency(ms)}`).join(", ");
  return `<svg class="plot" height="${height}" role="img" aria-label="Latency of the last polls: ${summary}">${grid}${lines}<svg viewBox="0 0 ${COLUMNS} ${height}" preserveAspectRatio="none"><path class="curve" d="${curve(polls, y)}"/><path class="dots" d="${dots(polls, y)}"/></svg></svg>`;
}

function axis({ y, gridMs }: Scale, height: number): string {
  const marks = gridMs.map((ms) => `<text x="8" y="${y(ms) + 3.5}">${humanLatency(ms)}</text>`);
  return `<svg class="axis" width="${AXIS_WIDTH}" height="${height}" aria-hidden="true">${marks.join("")}</svg>`;
}

/** A line through the ok polls, with a gap for each poll that was not ok. */
function curve(polls: readonly PollStatus[], y: Scale["y"]): string {
  return polls
    .map((poll, index) => {
      if (poll.outcome !== "ok") return "";
      return `${polls[index - 1]?.outcome === "ok" ? "L" : "M"}${pointOf(poll, index, polls.length, y)}`;
    })
    .join("");
}

/** The newest poll, and polls without an ok neighbour to draw a line to. */
function dots(polls: readonly PollStatus[], y: Scale["y"]): string {
  return polls
    .map((poll, index) => {
      const isAlone = polls[index - 1]?.outcome !== "ok" && polls[index + 1]?.outcome !== "ok";
      const isNewest = index === polls.length - 1;
      return poll.outcome === "ok" && (isAlone || isNewest)
        ? `M${pointOf(poll, index, polls.length, y)}h0`
        : "";
    })
    .join("");
}

function pointOf(poll: PollStatus, index: number, polls: number, y: Scale["y"]): string {
  return `${columnOf(index, polls) + 0.5} ${y(poll.durationMs)}`;
}

/** Logarithmic, so that 80 ms, an objective of 1 s and a timeout of 10 s all fit. */
export type Scale = {
  /** In pixels from the top. */
  readonly y: (ms: number) => number;
  /** The powers of ten within the scale. */
  readonly gridMs: readonly number[];
};

const STEPS = [1, 2, 5] as const;
/** The scale spans at least one power of ten. */
const LEAST_RATIO = 10;

export function scaleFor(valuesMs: readonly number[], height: number, padding: number): Scale {
  const known = valuesMs.filter((ms) => Number.isFinite(ms)).map((ms) => Math.max(1, ms));
  const lowMs = roundedDown(known.length === 0 ? 10 : Math.min(...known));
  const highMs = Math.max(
    lowMs * LEAST_RATIO,
    roundedUp((known.length === 0 ? 1000 : Math.max(...known)) * 1.05),
  );
  const [low, high] = [Math.log10(lowMs), Math.log10(highMs)];
  const y = (ms: number): number => {
    const part = (Math.log10(Math.min(highMs, Math.max(lowMs, ms))) - low) / (high - low);
    return Math.round((padding + (1 - part) * (height - 2 * padding)) * 10) / 10;
  };
  const decades = Array.from(
    { length: Math.floor(high) - Math.ceil(low) + 1 },
    (_, index) => Math.ceil(low) + index,
  );
  return { y, gridMs: decades.map((decade) => 10 ** decade) };
}

function roundedDown(ms: number): number {
  const decade = 10 ** Math.floor(Math.log10(ms));
  return decade * (STEPS.findLast((step) => step * decade <= ms) ?? 1);
}

function roundedUp(ms: number): number {
  const decade = 10 ** Math.floor(Math.log10(ms));
  return decade * (STEPS.find((step) => step * decade >= ms) ?? 10);
}
