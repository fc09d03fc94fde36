import { raw } from "hono/html";
import type { Markup } from "./markup.ts";
import { percentOf } from "./wording.ts";

const GAUGE_HEIGHT = 18;
const BAR_Y = 5;
const BAR_HEIGHT = 8;

type Gauge = {
  /** The same in words. */
  readonly label: string;
  readonly full: number;
  readonly used: number;
  /** A line across the gauge: our cap, or a forecast. */
  readonly mark: number;
};

/** A bar from 0 to full: used is filled, the rest up to the mark is tinted. What exceeds `full` is drawn at its end. */
export function gauge({ label, full, used, mark }: Gauge): Markup {
  const [usedPercent, markPercent] = [percentOf(used, full), percentOf(mark, full)];
  return raw(
    `<svg class="gauge" height="${GAUGE_HEIGHT}" role="img" aria-label="${label}">` +
      `<rect class="track" y="${BAR_Y}" width="100%" height="${BAR_HEIGHT}" rx="2"/>` +
      `<rect class="ours" y="${BAR_Y}" width="${markPercent}%" height="${BAR_HEIGHT}" rx="2"/>` +
      `<rect class="used" y="${BAR_Y}" width="${usedPercent}%" height="${BAR_HEIGHT}" rx="2"/>` +
      `<line class="mark" x1="${markPercent}%" x2="${markPercent}%" y1="0" y2="${GAUGE_HEIGHT}"/></svg>`,
  );
}
