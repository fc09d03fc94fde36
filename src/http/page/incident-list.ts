import { html } from "hono/html";
import { humanDuration } from "../../core/status/humanize.ts";
import type { Incident } from "../../core/status/status.ts";
import { moment, type Markup } from "./markup.ts";
import { incidentId, incidentWords } from "./plot.ts";

/** A line each, two on a phone. `link` leads to the page of an upstream; on that page itself there is none. */
export function incidentList(
  incidents: readonly Incident[],
  nowMs: number,
  link?: (upstream: string) => string,
): Markup {
  return html`<ul class="incidents">
    ${incidents.map((incident) => row(incident, nowMs, link))}
  </ul>`;
}

function row(incident: Incident, nowMs: number, link?: (upstream: string) => string): Markup {
  const { upstream, state, reason, startedAtMs, endedAtMs, isUnwatched, polls } = incident;
  const { what, why } = incidentWords(incident);
  const lastedMs = Math.max(0, (endedAtMs ?? nowMs) - startedAtMs);
  return html`<li
    id="${link === undefined ? incidentId(incident) : `${upstream}-${incidentId(incident)}`}"
    class="${reason === "offline" ? "offline" : state}"
  >
    <p>${link === undefined ? "" : html`<a href="${link(upstream)}">${upstream}</a> `}<b>${what}</b>${why}</p>
    <p class="of">
      ${moment(startedAtMs, nowMs)} to
      ${endedAtMs === undefined ? html`<strong>now</strong>` : moment(endedAtMs, nowMs)}
    </p>
    <p class="of">
      <b>${humanDuration(lastedMs)}</b>${isUnwatched === true ? " at least, then no longer watched" : ""},
      ${polls === 1 ? "1 poll" : `${polls} polls`}
    </p>
  </li>`;
}
