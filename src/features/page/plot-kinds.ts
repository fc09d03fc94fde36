import { raw } from "hono/html";
import type { Outcome } from "../../kernel/exchange/reasons.ts";
import type { Column } from "../history/timeline.ts";
import type { Markup } from "../../http/markup/markup.ts";
import type { PollStatus } from "../history/kept-poll.ts";

export type Kind = Outcome | "slow";

/** Of several troubles in one column, the first of those that are most is drawn. */
const TROUBLES = ["failed", "rejected", "throttled", "ours"] as const;

export const STRIP_HEIGHT = 28;

type Box = readonly [y: number, height: number];

/** How a poll is called and drawn, and who has to act. */
type KindRow = { readonly words: string; readonly side?: string; readonly boxes: readonly Box[] };

/** Each has a shape of its own, so that none depends on its colour: low, higher, full, split, hollow, flat. */
export const KINDS: Readonly<Record<Kind, KindRow>> = {
  ok: { words: "ok", boxes: [[17, 11]] },
  slow: { words: "ok, but slow", boxes: [[9, 19]] },
  failed: { words: "failed", side: "theirs, or on the way", boxes: [[0, STRIP_HEIGHT]] },
  rejected: {
    words: "rejected",
    side: "our key or permission",
    boxes: [
      [0, 11],
      [17, 11],
    ],
  },
  throttled: { words: "throttled", side: "their limit", boxes: [[1, STRIP_HEIGHT - 2]] },
  ours: { words: "our own fault", boxes: [[22, 6]] },
};

/** What only some polls of a column met stands on what the others were, as high as its share. */
const LEAST_HEIGHT = 5;
const JOINT = 1;

export function kindOf({ outcome, degraded }: PollStatus): Kind {
  return outcome === "ok" && degraded ? "slow" : outcome;
}

type Shape = readonly [Kind, readonly Box[]];

/** What one column is drawn as. */
export function shapesOf({ counts, latency }: Column, slowAboveMs: number = Infinity): readonly Shape[] {
  const { middleMs = 0, longestMs = 0 } = latency ?? {};
  const trouble = TROUBLES.toSorted((one, other) => counts[other] - counts[one])[0] ?? "failed";
  const troubles = counts[trouble];
  if (counts.ok === 0) return [[trouble, KINDS[trouble].boxes]];
  const base = middleMs > slowAboveMs ? "slow" : "ok";
  const whole: Shape = [base, KINDS[base].boxes];
  if (troubles > 0) return [whole, [trouble, upon(base, trouble, troubles / (counts.ok + troubles))]];
  return base === "ok" && longestMs > slowAboveMs ? [whole, ["slow", upon(base, "slow", 0)]] : [whole];
}

function upon(base: Kind, kind: Kind, share: number): readonly Box[] {
  const bottom = Math.min(...KINDS[base].boxes.map(([y]) => y)) - JOINT;
  const top = Math.min(...KINDS[kind].boxes.map(([y]) => y));
  const scale = (LEAST_HEIGHT + share * (bottom - LEAST_HEIGHT)) / (STRIP_HEIGHT - top);
  return KINDS[kind].boxes.map(([y, height]) => [
    rounded(bottom - (STRIP_HEIGHT - y) * scale),
    rounded(height * scale),
  ]);
}

/** The shape of each kind, with its name, and whatever else is drawn. */
export function plotLegend(more: string = ""): Markup {
  const drawn = (className: string, width: number, boxes: readonly Box[], words: string): string =>
    `<li><svg width="${width / 2}" height="${STRIP_HEIGHT / 2}" viewBox="0 0 ${width} ${STRIP_HEIGHT}" aria-hidden="true"><path class="${className}" d="${pathOf(0, width, boxes)}"/></svg> ${words}</li>`;
  const kinds = Object.entries(KINDS).map(([kind, { words, side, boxes }]) =>
    drawn(kind, 8, boxes, side === undefined ? words : `${words}: ${side}`),
  );
  const whole: readonly Box[] = [[0, STRIP_HEIGHT]];
  const others = [drawn("unwatched", 28, whole, "not watched"), drawn("incident", 28, whole, "incident")];
  return raw(`<ul class="legend" aria-label="Legend">${[...kinds, ...others].join("")}${more}</ul>`);
}

export function pathOf(x: number, width: number, boxes: readonly Box[]): string {
  return boxes.map(([y, height]) => `M${x} ${y}h${width}v${height}h${-width}z`).join("");
}

/** Two decimals are less than a pixel of any drawing. */
export function rounded(place: number): number {
  return Math.round(place * 100) / 100;
}
