import { html, raw } from "hono/html";
import {
  availabilityOf,
  type AvailabilityWindow,
  failedWords,
  verdictOnAvailability,
  watchedWords,
} from "../history/availability.ts";
import type { UpstreamFacts } from "../status/status.ts";
import { CALENDAR, type Column, type Columns, spanOf } from "../history/timeline.ts";
import { civilDayOf, dayText, MONTHS, weekdayOf, WEEKDAYS } from "../../kernel/time/civil-day.ts";
import { DAY_MS } from "../../kernel/time/duration.ts";
import type { Markup } from "../../http/markup/markup.ts";
import { incidentId } from "./plot.ts";
import { percent } from "../../http/markup/wording.ts";
import type { Incident } from "../history/incidents.ts";

/** Told apart by shape and shade too. */
const KINDS = {
  fine: ["all ok", '<circle cx="8" cy="8" r="2.5"/>'],
  some: ["some failed, objective met", '<path d="M1 15V1L15 15z"/>'],
  bad: [
    "objective missed",
    '<rect x="1" y="1" width="14" height="14"/><path class="cut" d="M4.5 4.5l7 7M11.5 4.5l-7 7"/>',
  ],
  early: ["watched for less than a tenth", '<circle class="hollow" cx="8" cy="8" r="5"/>'],
  unwatched: ["not watched", '<rect class="hatched" x="1" y="1" width="14" height="14"/>'],
} as const;
type Kind = keyof typeof KINDS;

type Calendar = {
  readonly upstream: Pick<UpstreamFacts, "name" | "objective">;
  /** In days. */
  readonly seen: Columns;
  readonly incidents: readonly Incident[];
  readonly nowMs: number;
  readonly hasReports: boolean;
};

/** The last 90 days in UTC, a column for each week. */
export function calendar(given: Calendar): Markup {
  const { fromMs, toMs } = spanOf(CALENDAR, given.nowMs);
  const columns = new Map(given.seen.columns.map((column) => [column.index, column]));
  const days = Array.from({ length: (toMs - fromMs) / DAY_MS }, (_, place) => fromMs / DAY_MS + place);
  return html`<ol class="calendar" aria-label="The last 90 days">
      ${LABELLED.map((weekday) => html`<li class="label day-${weekday}" aria-hidden="true">${WEEKDAYS[weekday]?.slice(0, 3)}</li> `)}
      ${days.map((day, place) => [place === 0 || weekdayOf(day) === MONDAY ? monthLabel(day, days) : "", dayCell(day, columns.get(day), given)])}
    </ol>
    <p class="legend">
      ${Object.entries(KINDS).map(([kind, [words, shape]]) => html`<span>${sign(kind, shape)} ${words}</span>`)}
    </p>`;
}

const MONDAY = 1;
const LABELLED = [1, 3, 5];

/** Above the week in which a month begins; empty above the others. Each day has its date in words too. */
function monthLabel(day: number, days: readonly number[]): Markup {
  const sunday = day + ((7 - weekdayOf(day)) % 7);
  const { month, day: ofMonth } = civilDayOf(Math.min(sunday, days.at(-1) ?? sunday));
  return html`<li class="label month" aria-hidden="true">${ofMonth <= 7 ? MONTHS[month - 1] : ""}</li> `;
}

function dayCell(day: number, column: Column | undefined, given: Calendar): Markup {
  const window = availabilityOf(DAY_MS, column ?? { watchedMs: 0, failedMs: 0 });
  const { availability } = given.upstream.objective;
  const kind = kindOf(window, availability);
  const drawn = sign(kind, KINDS[kind][1]);
  const ofTime = [percent(window.ratio ?? 0, availability), watchedWords(window)]
    .filter((word) => word !== "")
    .join(" ");
  const said = window.ratio === undefined ? KINDS.unwatched[0] : `${ofTime}, ${failedWords(window)}`;
  const words = `${dayText(day)}: ${said}`;
  const target = targetOf(day, column?.counts.failed ?? 0, given);
  return html`<li class="day-${weekdayOf(day)}" title="${words}">
    ${target === undefined ? html`<span role="img" aria-label="${words}">${drawn}</span>` : html`<a href="${target}" aria-label="${words}">${drawn}</a>`}
  </li> `;
}

function kindOf(window: AvailabilityWindow, objective: number): Kind {
  const verdict = verdictOnAvailability(window, objective);
  switch (verdict) {
    case "unknown":
      return "unwatched";
    case "early":
      return "early";
    case "missed":
      return "bad";
    case "met":
      return window.failedMs === 0 ? "fine" : "some";
    default:
      return verdict satisfies never;
  }
}

/** Its newest incident on this page; what is older, or was never one, is in the day's report. */
function targetOf(
  day: number,
  failed: number,
  { upstream, incidents, nowMs, hasReports }: Calendar,
): string | undefined {
  const [fromMs, toMs] = [day * DAY_MS, (day + 1) * DAY_MS];
  const incident = incidents.find(
    ({ startedAtMs, endedAtMs = nowMs }) => startedAtMs < toMs && endedAtMs >= fromMs,
  );
  if (incident !== undefined) return `#${incidentId(incident)}`;
  return failed > 0 && hasReports
    ? `../report?upstream=${upstream.name}&from=${dayText(day)}&to=${dayText(day)}`
    : undefined;
}

function sign(kind: string, shape: string): Markup {
  return raw(`<svg class="day ${kind}" viewBox="0 0 16 16" aria-hidden="true">${shape}</svg>`);
}
