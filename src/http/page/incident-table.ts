import { html } from "hono/html";
import { spokenDuration } from "../../core/status/spoken.ts";
import type { Incident } from "../../core/status/status.ts";
import { moment, type Markup } from "./markup.ts";
import { HEALTH_TITLES, reasonWords } from "./wording.ts";

/** `link` makes the way from this page to an upstream's; none where the page is that one. */
export function incidentTable(
  incidents: readonly Incident[],
  nowMs: number,
  link?: (upstream: string) => string,
): Markup {
  return html`<div class="wide" role="region" aria-label="Incidents" tabindex="0">
    <table class="incidents">
      <thead>
        <tr>
          ${link === undefined ? "" : html`<th scope="col">Upstream</th>`}
          <th scope="col">What</th>
          <th scope="col">Start</th>
          <th scope="col">End</th>
          <th scope="col" class="number">Lasted</th>
          <th scope="col" class="number">Polls</th>
        </tr>
      </thead>
      <tbody>
        ${incidents.map((incident) => row(incident, nowMs, link))}
      </tbody>
    </table>
  </div>`;
}

function row(incident: Incident, nowMs: number, link?: (upstream: string) => string): Markup {
  const { upstream, state, reason, startedAtMs, endedAtMs } = incident;
  return html`<tr class="${state}">
    ${link === undefined ? "" : html`<th scope="row"><a href="${link(upstream)}">${upstream}</a></th>`}
    <td><b>${HEALTH_TITLES[state]}</b>${reason === "" ? "" : `: ${reasonWords(reason)}`}</td>
    <td>${moment(startedAtMs, nowMs)}</td>
    <td>${endedAtMs === undefined ? html`<strong>still on</strong>` : moment(endedAtMs, nowMs)}</td>
    <td class="number">${spokenDuration(Math.max(0, (endedAtMs ?? nowMs) - startedAtMs))}</td>
    <td class="number">${incident.polls}</td>
  </tr>`;
}
