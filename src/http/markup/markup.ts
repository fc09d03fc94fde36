import { html, raw } from "hono/html";
import { escapeToBuffer } from "hono/utils/html";
import { escapeText } from "../../kernel/text/escape.ts";
import { humanDuration } from "../../platform/humanize.ts";
import { isoTime } from "../../platform/iso-time.ts";
import { dateTime } from "../../kernel/time/civil-day.ts";
import { clockTime } from "./wording.ts";
import { HEALTH_STATES, type HealthState } from "../../kernel/poll/health.ts";

export type Markup = ReturnType<typeof html>;

/** For markup that is written as text. Controls and marks that turn the direction of text are escaped too. */
export function escaped(text: string): string {
  const written: [string] = [""];
  escapeToBuffer(escapeText(text), written);
  return written[0];
}

/** Text from an upstream: markup and control characters are escaped, and it cannot change the text direction. */
export function untrusted(text: string): Markup {
  return html`<bdi>${escapeText(text)}</bdi>`;
}

/** `12:04:30 UTC`, with the date on hovering. */
export function moment(atMs: number, nowMs: number): Markup {
  return time(atMs, clockTime(atMs, nowMs));
}

/** `12 s ago`, with date and time on hovering. */
export function ago(atMs: number, nowMs: number): Markup {
  return time(atMs, nowMs - atMs < 1000 ? "just now" : `${humanDuration(nowMs - atMs)} ago`);
}

/** `in 12 s`, with date and time on hovering. */
export function ahead(atMs: number, nowMs: number): Markup {
  const seconds = Math.ceil((atMs - nowMs) / 1000);
  return time(atMs, seconds <= 0 ? "now" : `in ${humanDuration(seconds * 1000)}`);
}

function time(atMs: number, words: string): Markup {
  return html`<time datetime="${isoTime(atMs)}" title="${dateTime(atMs)}">${words}</time>`;
}

/** An icon for each state, 24 by 24. The words beside it say the same. */
const SHAPES: Readonly<Record<HealthState, string>> = {
  up: '<circle cx="12" cy="12" r="10"/><path class="cut" d="M7 12.5l3.5 3.5L17 9"/>',
  degraded: '<circle cx="12" cy="12" r="10"/><path class="cut" d="M12 6v6.5l4 2.5"/>',
  throttled: '<circle cx="12" cy="12" r="10"/><path class="cut" d="M9.5 7.5v9M14.5 7.5v9"/>',
  unauthorized:
    '<circle cx="12" cy="12" r="10"/><path class="cut" d="M6.5 12a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0M11.5 12H18v3M15 12v2.5"/>',
  down: '<path d="M7.9 2h8.2L22 7.9v8.2L16.1 22H7.9L2 16.1V7.9z"/><path class="cut" d="M8 8l8 8M16 8l-8 8"/>',
  unknown:
    '<circle class="open" cx="12" cy="12" r="9"/><path class="query" d="M9.3 9.6a2.8 2.8 0 1 1 4 2.5c-.9.5-1.3 1-1.3 2M12 17.2h0"/>',
};

/** What was not watched is hatched. */
const HATCH =
  '<pattern id="unwatched" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0v6"/></pattern>';

/** Defined once in each page, referenced by every `icon` and every plot. */
export const SHARED_SHAPES: Markup = raw(
  `<svg class="shapes" width="0" height="0" aria-hidden="true"><defs>${HATCH}${HEALTH_STATES.map(
    (state) => `<g id="sign-${state}">${SHAPES[state]}</g>`,
  ).join("")}</defs></svg>`,
);

export function icon(state: HealthState): Markup {
  return raw(`<svg class="sign" viewBox="0 0 24 24" aria-hidden="true"><use href="#sign-${state}"/></svg>`);
}

export function section(title: Markup | string, ...content: readonly (Markup | string)[]): Markup {
  return html`<section>
    <h2>${title}</h2>
    ${content}
  </section>`;
}

export function list(className: string, items: readonly (Markup | string)[]): Markup {
  return html`<ul class="${className}">
    ${items}
  </ul>`;
}

export type Column = { readonly title: string; readonly isNumber?: boolean };

/** Scrolls sideways by itself where the screen is narrow. */
export function scrollTable(
  label: string,
  className: string,
  columns: readonly Column[],
  rows: readonly Markup[],
): Markup {
  const head = columns.map(({ title, isNumber }) =>
    isNumber === true
      ? html`<th scope="col" class="number">${title}</th>`
      : html`<th scope="col">${title}</th>`,
  );
  return html`<div class="wide" role="region" aria-label="${label}" tabindex="0">
    <table class="${className}">
      <thead>
        <tr>
          ${head}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}
