import { html } from "hono/html";
import { counted } from "../../kernel/exchange/json-value.ts";
import { humanDuration } from "../../platform/humanize.ts";
import { list, moment, type Markup } from "../../http/markup/markup.ts";
import { incidentId, incidentWords } from "./plot.ts";
import type { Incident } from "../history/incidents.ts";

/** A line each, two on a phone. Those of all upstreams lead to the pages of theirs. */
export function incidentList(incidents: readonly Incident[], nowMs: number, areOfAll = false): Markup {
  const rows = incidents.map((incident) => row(incident, nowMs, areOfAll));
  return list("incidents", rows);
}

function row(incident: Incident, nowMs: number, isOfAll: boolean): Markup {
  const { upstream, state, reason, startedAtMs, endedAtMs, isUnwatched, polls } = incident;
  const { what, why } = incidentWords(incident);
  const lastedMs = Math.max(0, (endedAtMs ?? nowMs) - startedAtMs);
  return html`<li
    id="${isOfAll ? `${upstream}-` : ""}${incidentId(incident)}"
    class="${reason === "offline" ? "offline" : state}"
  >
    <p>${isOfAll ? html`<a href="upstreams/${upstream}">${upstream}</a> ` : ""}<b>${what}</b>${why}</p>
    <p class="of">
      ${moment(startedAtMs, nowMs)} to
      ${endedAtMs === undefined ? html`<strong>now</strong>` : moment(endedAtMs, nowMs)}
    </p>
    <p class="of">
      <b>${humanDuration(lastedMs)}</b>${isUnwatched === true ? " at least, then no longer watched" : ""},
      ${counted(polls, "poll")}
    </p>
  </li>`;
}
