import { raw } from "hono/html";
import type { Markup } from "./markup.ts";

const HEIGHT = 18;
const BAR_Y = 5;
const BAR_HEIGHT = 8;

export type Gauge = {
  /** What it shows, in words. */
  readonly label: string;
  readonly full: number;
  readonly used: number;
  /** A line across it: our cap, or a forecast. */
  readonly mark: number;
};

/** From nothing to full: what is used, filled; up to the mark, tinted. What lies beyond `full` is drawn at its end. */
export function gauge({ label, full, used, mark }: Gauge): Markup {
  const [usedShare, markShare] = [share(used, full), share(mark, full)];
  return raw(
    `<svg class="gauge" height="${HEIGHT}" role="img" aria-label="${label}">` +
      `<rect class="track" y="${BAR_Y}" width="100%" height="${BAR_HEIGHT}" rx="2"/>` +
      `<rect class="ours" y="${BAR_Y}" width="${markShare}%" height="${BAR_HEIGHT}" rx="2"/>` +
      `<rect class="used" y="${BAR_Y}" width="${usedShare}%" height="${BAR_HEIGHT}" rx="2"/>` +
      `<line class="mark" x1="${markShare}%" x2="${markShare}%" y1="0" y2="${HEIGHT}"/></svg>`,
  );
}

function share(part: number, full: number): number {
  return full <= 0 ? 0 : Math.round(Math.min(1, Math.max(0, part / full)) * 10_000) / 100;
}
