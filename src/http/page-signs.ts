import { raw } from "hono/html";
import { HEALTH_STATES, type HealthState } from "../core/health.ts";
import type { Markup } from "./status-page-markup.ts";

/** A shape for each state, on a field of 24 by 24. The words beside it say the same. */
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

/** Drawn once a page, used wherever a sign is. */
export const SIGN_SHAPES: Markup = raw(
  `<svg class="shapes" width="0" height="0" aria-hidden="true"><defs>${HEALTH_STATES.map(
    (state) => `<g id="sign-${state}">${SHAPES[state]}</g>`,
  ).join("")}</defs></svg>`,
);

export function sign(state: HealthState): Markup {
  return raw(`<svg class="sign" viewBox="0 0 24 24" aria-hidden="true"><use href="#sign-${state}"/></svg>`);
}
