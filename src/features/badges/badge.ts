import type { HealthState } from "../../kernel/poll/health.ts";
import {
  availabilityOf,
  type Verdict,
  verdictOnAvailability,
  watchedWords,
} from "../history/availability.ts";
import { humanLatency } from "../../platform/humanize.ts";
import type { Objective } from "../../kernel/config/config.ts";
import { type Column, type Columns, LAST_HOUR, type Range, RANGES } from "../history/timeline.ts";
import { STATE_WORDS } from "../history/words.ts";
import { escaped } from "../../http/markup/markup.ts";
import { percent } from "../../http/markup/wording.ts";

export const BADGES = ["state", "24h", "7d", "30d", "p95"] as const;
export type Badge = (typeof BADGES)[number];

/** Each stands out from white text, on light and on dark pages. */
const COLOURS: Readonly<Record<HealthState, string>> = {
  up: "#1d7446",
  degraded: "#865200",
  throttled: "#4b41b8",
  unauthorized: "#96206e",
  down: "#b3261e",
  unknown: "#565c64",
};

/** What badges tell of an upstream. */
export type Badged = {
  readonly name: string;
  readonly health: { readonly state: HealthState };
  readonly latency: { readonly p95Ms: number } | undefined;
  readonly objective: Objective;
};

type ColumnsIn = (range: Range) => Columns;

/** A picture of its own for other pages: it has no style sheet. */
export function badgeOf(badge: Badge, upstream: Badged, columnsIn: ColumnsIn): string {
  const { label, value, state } = badgeWordsOf(badge, upstream, columnsIn);
  const name = `${upstream.name}${label}`;
  const [left, right] = [widthOf(name), widthOf(value)];
  const text = (of: string, from: number, width: number): string =>
    `<text x="${from + width / 2}" y="14" text-anchor="middle" textLength="${width - 12}" lengthAdjust="spacingAndGlyphs">${escaped(of)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${escaped(`${name}: ${value}`)}">
<title>${escaped(`${name}: ${value}`)}</title>
<rect width="${left + right}" height="20" rx="4" fill="${COLOURS[state]}"/><path d="M4 0h${left - 4}v20H4a4 4 0 0 1-4-4V4a4 4 0 0 1 4-4z" fill="#3a3d42"/>
<g fill="#fff" font-family="system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif" font-size="${FONT_PX}">${text(name, 0, left)}${text(value, left, right)}</g>
</svg>
`;
}

const FONT_PX = 11;

/** As a sans serif is drawn, nearly: the text is stretched to it. */
function widthOf(text: string): number {
  const ems = Array.from(text, (letter) =>
    /[fijlrtI .:,-]/.test(letter) ? 0.32 : /[mwMW%]/.test(letter) ? 0.86 : 0.58,
  );
  return Math.round(ems.reduce((sum, em) => sum + em, 0) * FONT_PX) + 12;
}

const VERDICT_STATES: Readonly<Record<Verdict, HealthState>> = {
  met: "up",
  missed: "down",
  early: "unknown",
  unknown: "unknown",
};

type BadgeWords = { readonly label: string; readonly value: string; readonly state: HealthState };

function badgeWordsOf(
  badge: Badge,
  { health, latency, objective }: Badged,
  columnsIn: ColumnsIn,
): BadgeWords {
  if (badge === "state")
    return { label: "", value: STATE_WORDS[health.state].title.toLowerCase(), state: health.state };
  if (badge === "p95") {
    const ms = latency?.p95Ms;
    const state = ms === undefined ? "unknown" : ms <= objective.latencyMs ? "up" : "degraded";
    return { label: " p95", value: ms === undefined ? "unknown" : humanLatency(ms), state };
  }
  const range = RANGES.find((each) => each.name === badge) ?? LAST_HOUR;
  const { columns } = columnsIn(range);
  const sum = (of: (column: Column) => number): number =>
    columns.reduce((total, column) => total + of(column), 0);
  const window = availabilityOf(range.lengthMs, {
    watchedMs: sum(({ watchedMs }) => watchedMs),
    failedMs: sum(({ failedMs }) => failedMs),
  });
  const { availability } = objective;
  const words =
    window.ratio === undefined ? "unknown" : `${percent(window.ratio, availability)} ${watchedWords(window)}`;
  const state = VERDICT_STATES[verdictOnAvailability(window, availability)];
  return { label: ` ${badge}`, value: words.trimEnd(), state };
}
