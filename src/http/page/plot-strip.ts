import { raw } from "hono/html";
import { humanLatency } from "../../core/status/humanize.ts";
import { reasonWords } from "../../core/exchange/reasons.ts";
import type { PollStatus } from "../../core/status/status.ts";
import type { Markup } from "./markup.ts";
import { clockTime, percentOf } from "./wording.ts";
import { POLLS_KEPT } from "../../core/history/history.ts";

/** The strip and the latency plot share their columns: one for each kept poll, the newest at the right. */
export const COLUMNS: number = POLLS_KEPT;

const HEIGHT = 28;
const GAP = 0.18;

const KINDS = ["ok", "slow", "failed", "throttled", "rejected", "ours"] as const;
type Kind = (typeof KINDS)[number];

export const KIND_WORDS: Readonly<Record<Kind, string>> = {
  ok: "ok",
  slow: "ok, but slow",
  failed: "failed",
  throttled: "throttled",
  rejected: "rejected",
  ours: "our own fault",
};

/** Each kind has its own shape: low, higher, full, split, hollow, flat. Boxes of `y` and height. */
const SHAPES: Readonly<Record<Kind, readonly (readonly [y: number, height: number])[]>> = {
  ok: [[17, 11]],
  slow: [[10, 18]],
  failed: [[0, HEIGHT]],
  throttled: [[1, HEIGHT - 2]],
  rejected: [
    [0, 11],
    [17, 11],
  ],
  ours: [[23, 5]],
};

/** The last polls, one bar each. It may be raw markup: numbers and fixed words only, nothing from an upstream. */
export function pollStrip(polls: readonly PollStatus[], nowMs: number): Markup {
  const bars = polls
    .slice(-COLUMNS)
    .map((poll, index, shown) => bar(poll, columnOf(index, shown.length), nowMs));
  return raw(
    `<svg class="strip" height="${HEIGHT}" role="img" aria-label="${summary(polls)}"><line class="base" x1="0" x2="100%" y1="27.5" y2="27.5"/>${bars.join("")}</svg>`,
  );
}

/** The bar of each kind, with its name. */
export function stripLegend(): Markup {
  const items = KINDS.map(
    (kind) =>
      `<li><svg viewBox="0 0 6 ${HEIGHT}" aria-hidden="true">${shape(kind, "0.5", "5")}</svg> ${KIND_WORDS[kind]}</li>`,
  );
  return raw(`<ul class="legend" aria-label="Legend">${items.join("")}</ul>`);
}

export function kindOf({ outcome, degraded }: PollStatus): Kind {
  return outcome === "ok" && degraded ? "slow" : outcome;
}

const WIDTH = columnPercent(1 - GAP);

function bar(poll: PollStatus, column: number, nowMs: number): string {
  const kind = kindOf(poll);
  const title = `${clockTime(poll.atMs, nowMs)}: ${outcomeWords(poll, kind)}, ${humanLatency(poll.durationMs)}`;
  return `<g><title>${title}</title>${shape(kind, columnPercent(column + GAP / 2), WIDTH)}</g>`;
}

function shape(kind: Kind, x: string, width: string): string {
  return SHAPES[kind]
    .map(([y, height]) => `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}"/>`)
    .join("");
}

function columnPercent(columns: number): string {
  return `${percentOf(columns, COLUMNS)}%`;
}

function outcomeWords({ reason, status }: PollStatus, kind: Kind): string {
  // Any other reason comes from a state file that somebody has edited.
  const words = /^[a-z_]+$/.test(reason) ? `, ${reasonWords(reason)}` : "";
  return `${KIND_WORDS[kind]}${words}${status === undefined ? "" : `, ${status}`}`;
}

/** `The last 60 polls: 52 ok; 8 failed. The newest: failed` */
function summary(polls: readonly PollStatus[]): string {
  const newest = polls.at(-1);
  if (newest === undefined) return "No polls yet";
  const counts = KINDS.map((kind) => [kind, polls.filter((poll) => kindOf(poll) === kind).length] as const);
  const words = counts
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${KIND_WORDS[kind]}`);
  return `The last ${polls.length} polls: ${words.join("; ")}. The newest: ${KIND_WORDS[kindOf(newest)]}`;
}

/** If there are fewer polls than columns, the left columns stay empty. */
export function columnOf(index: number, polls: number): number {
  return COLUMNS - polls + index;
}
