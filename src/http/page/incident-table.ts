import { html } from "hono/html";
import { humanDuration } from "../../core/status/humanize.ts";
import { reasonWords } from "../../core/exchange/reasons.ts";
import type { Incident } from "../../core/status/status.ts";
import { STATE_WORDS } from "../../core/status/words.ts";
import { type Column, moment, type Markup, scrollTable } from "./markup.ts";

const COLUMNS: readonly Column[] = [
  { title: "What" },
  { title: "Start" },
  { title: "End" },
  { title: "Lasted", isNumber: true },
  { title: "Polls", isNumber: true },
];

/** `link` leads to the page of an upstream. On that page itself there is none, and no column for it. */
export function incidentTable(
  incidents: readonly Incident[],
  nowMs: number,
  link?: (upstream: string) => string,
): Markup {
  const columns = link === undefined ? COLUMNS : [{ title: "Upstream" }, ...COLUMNS];
  const rows = incidents.map((incident) => row(incident, nowMs, link));
  return scrollTable("Incidents", "incidents", columns, rows);
}

function row(incident: Incident, nowMs: number, link?: (upstream: string) => string): Markup {
  const { upstream, state, reason, startedAtMs, endedAtMs } = incident;
  const isOurs = reason === "offline";
  const what = isOurs ? "We were offline" : STATE_WORDS[state].title;
  const why = isOurs || reason === "" ? "" : `: ${reasonWords(reason)}`;
  return html`<tr class="${isOurs ? "offline" : state}">
    ${link === undefined ? "" : html`<th scope="row"><a href="${link(upstream)}">${upstream}</a></th>`}
    <td><b>${what}</b>${why}</td>
    <td>${moment(startedAtMs, nowMs)}</td>
    <td>${endedAtMs === undefined ? html`<strong>ongoing</strong>` : moment(endedAtMs, nowMs)}</td>
    <td class="number">${humanDuration(Math.max(0, (endedAtMs ?? nowMs) - startedAtMs))}</td>
    <td class="number">${incident.polls}</td>
  </tr>`;
}
