import { html } from "hono/html";
import { bySickness } from "../core/sickness.ts";
import type { FleetStatus } from "../core/fleet-status.ts";
import type { StatusSnapshot, UpstreamStatus } from "../core/status.ts";
import { pageShell, type View } from "./page-shell.ts";
import { stripLegend } from "./plot-strip.ts";
import { budgetCard } from "./status-page-budgets.ts";
import { elsewhereIn, fleetSection } from "./status-page-fleet.ts";
import { headline } from "./status-page-headline.ts";
import { incidentTable } from "./status-page-incidents.ts";
import type { Markup } from "./status-page-markup.ts";
import { notices } from "./status-page-notices.ts";
import { upstreamCard } from "./status-page-upstream.ts";
import { dateTime } from "./wording.ts";

/** Drawn in full; beyond that a page would be megabytes, and nobody would read it. The sickest come first. */
const UPSTREAMS_DRAWN = 100;

/** Older ones are in the JSON, and on the pages of the upstreams. */
const INCIDENTS_SHOWN = 20;

export function renderStatusPage(snapshot: StatusSnapshot, view: View, fleet?: FleetStatus): Markup {
  const { upstreams, budgets, nowMs } = snapshot;
  const title = headline(snapshot, elsewhereIn(fleet, snapshot));
  const { sick = [], well = [] } = Object.groupBy(bySickness(upstreams), ({ health }) =>
    health.state === "up" ? "well" : "sick",
  );
  const body = html`<h1>${title}</h1>
    ${notices(snapshot)}
    ${
      upstreams.length === 0
        ? html`<section>
            <h2>Upstreams</h2>
            ${fleet === undefined || fleet.upstreams.length === 0 ? NO_UPSTREAMS : NONE_HERE}
          </section>`
        : ""
    }
    ${upstreamList("Needs a look", sick, snapshot, true)}
    ${upstreamList("Well", well, snapshot, sick.length === 0)}
    ${fleet === undefined ? "" : fleetSection(fleet, snapshot)}
    <section>
      <h2>Budgets</h2>
      ${
        budgets.length === 0
          ? html`<p class="none">None is configured.</p>`
          : html`<ul class="budgets">
              ${budgets.map((budget) => budgetCard(budget, nowMs))}
            </ul>`
      }
    </section>
    <section>
      <h2>Incidents</h2>
      ${incidents(snapshot)}
    </section>`;
  return pageShell({ title, root: "./", self: "./", view, body }, snapshot);
}

const NO_UPSTREAMS: Markup = html`<p class="none">
  None is configured. Add one to the config file: it is read again by itself.
</p>`;

const NONE_HERE: Markup = html`<p class="none">This replica polls none now: others of its fleet do.</p>`;

function upstreamList(
  title: string,
  upstreams: readonly UpstreamStatus[],
  snapshot: StatusSnapshot,
  isFirst: boolean,
): Markup | string {
  if (upstreams.length === 0) return "";
  return html`<section>
    <div class="head">
      <h2>${title}</h2>
      ${isFirst ? stripLegend() : ""}
    </div>
    <ul class="upstreams">
      ${upstreams.slice(0, UPSTREAMS_DRAWN).map((upstream) => upstreamCard(upstream, snapshot))}
    </ul>
    ${moreUpstreams(upstreams.slice(UPSTREAMS_DRAWN))}
  </section>`;
}

function moreUpstreams(upstreams: readonly UpstreamStatus[]): Markup | string {
  if (upstreams.length === 0) return "";
  const links = upstreams.map(({ name }) => html`<a href="upstreams/${name}">${name}</a> `);
  return html`<p class="of">${upstreams.length} more: ${links}</p>`;
}

function incidents({ incidents, nowMs, startedAtMs }: StatusSnapshot): Markup {
  if (incidents.length === 0)
    return html`<p class="none">
      None on record. Pacewatch has been watching since ${dateTime(startedAtMs)}.
    </p>`;
  const older = incidents.length - INCIDENTS_SHOWN;
  return html`${incidentTable(incidents.slice(0, INCIDENTS_SHOWN), nowMs, (upstream) => `upstreams/${encodeURIComponent(upstream)}`)}
  ${older > 0 ? html`<p class="of">${older} older ones: <a href="api/v1/incidents">as JSON</a></p>` : ""}`;
}
