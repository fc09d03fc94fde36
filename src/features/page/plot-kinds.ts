import { raw } from "hono/html";
import type { Outcome } from "../../kernel/exchange/reasons.ts";
import type { Column } from "../history/timeline.ts";
import type { Markup } from "../../http/markup/markup.ts";
import type { PollStatus } from "../history/kept-poll.ts";

/** How a poll is called and drawn. Each kind has a shape of its own, so that none depends on its colour. */

export type Kind = Outcome | "slow";

/** Of several troubles in one column, the first of those that are most is drawn. */
const TROUBLES = ["failed", "rejected", "throttled", "ours"] as const;
const KINDS: readonly Kind[] = ["ok", "slow", ...TROUBLES];

/** Who has to act. */
const KIND_SIDES: Partial<Record<Kind, string>> = {
  failed: ": theirs, or on the way",
  rejected: ": our key or permission",
  throttled: ": their limit",
};

export const KIND_WORDS: Readonly<Record<Kind, string>> = {
  ok: "ok",
  slow: "ok, but slow",
  failed: "failed",
  rejected: "rejected",
  throttled: "throttled",
  ours: "our own fault",
};

export const STRIP_HEIGHT = 28;

type Box = readonly [y: number, height: number];

/** Low, higher, full, split, hollow, flat. */
const SHAPES: Readonly<Record<Kind, readonly Box[]>> = {
  ok: [[17, 11]],
  slow: [[9, 19]],
  failed: [[0, STRIP_HEIGHT]],
  rejected: [
    [0, 11],
    [17, 11],
  ],
  throttled: [[1, STRIP_HEIGHT - 2]],
  ours: [[22, 6]],
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
  if (counts.ok === 0) return [[trouble, SHAPES[trouble]]];
  const base = middleMs > slowAboveMs ? "slow" : "ok";
  const whole: Shape = [base, SHAPES[base]];
  if (troubles > 0) return [whole, [trouble, upon(base, trouble, troubles / (counts.ok + troubles))]];
  return base === "ok" && longestMs > slowAboveMs ? [whole, ["slow", upon(base, "slow", 0)]] : [whole];
}

function upon(base: Kind, kind: Kind, share: number): readonly Box[] {
  const bottom = Math.min(...SHAPES[base].map(([y]) => y)) - JOINT;
  const top = Math.min(...SHAPES[kind].map(([y]) => y));
  const scale = (LEAST_HEIGHT + share * (bottom - LEAST_HEIGHT)) / (STRIP_HEIGHT - top);
  return SHAPES[kind].map(([y, height]) => [
    rounded(bottom - (STRIP_HEIGHT - y) * scale),
    rounded(height * scale),
  ]);
}

/** The shape of each kind, with its name, and whatever else is drawn. */
export function plotLegend(more: string = ""): Markup {
  const drawn = (className: string, width: number, boxes: readonly Box[], words: string): string =>
    `<li><svg width="${width / 2}" height="${STRIP_HEIGHT / 2}" viewBox="0 0 ${width} ${STRIP_HEIGHT}" aria-hidden="true"><path class="${className}" d="${pathOf(0, width, boxes)}"/></svg> ${words}</li>`;
  const kinds = KINDS.map((kind) =>
    drawn(kind, 8, SHAPES[kind], `${KIND_WORDS[kind]}${KIND_SIDES[kind] ?? ""}`),
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
