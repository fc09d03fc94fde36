import { html } from "hono/html";
import { bySickness, SICKEST_FIRST } from "../../core/status/sickness.ts";
import type { FleetStatus } from "../../core/fleet/fleet-status.ts";
import type { StatusSnapshot, UpstreamStatus } from "../../core/status/status.ts";
import { pageShell, type View } from "./shell.ts";
import { stripLegend } from "./plot-strip.ts";
import { budgetCard } from "./budget-card.ts";
import { type Elsewhere, elsewhereIn, fleetSection } from "./fleet-section.ts";
import { incidentTable } from "./incident-table.ts";
import { type Markup, moment } from "./markup.ts";
import { upstreamCard } from "./upstream-card.ts";
import { dateTime, HEALTH_WORDS } from "./wording.ts";
import type { HealthState } from "../../core/poll/health.ts";
import { surroundingsIn } from "../../core/status/surroundings.ts";

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

/** So many are told by name; more are counted. */
const NAMED = 2;

const COUNTED: Readonly<Record<HealthState, string>> = {
  down: "down",
  unauthorized: "refusing our key",
  unknown: "not known",
  throttled: "throttling us",
  degraded: "slow",
  up: "up",
};

/** The whole page in one line: for a tab's title, and for whoever looks for five seconds. */
function headline(snapshot: StatusSnapshot, elsewhere: readonly Elsewhere[] = []): string {
  const { ready, upstreams } = snapshot;
  if (!ready) return "Pacewatch is not watching now";
  const here = upstreams.map(({ name, health: { state, sinceMs } }) => ({ name, state, sinceMs }));
  const all = [...here, ...elsewhere];
  const sick = sickestFirst(all).filter(({ state }) => state !== "up");
  const [first, second, ...others] = all;
  if (first === undefined) return "No upstreams are configured";
  if (sick.length === 0) {
    if (second === undefined) return `${first.name} is up`;
    return others.length === 0 ? "Both upstreams are up" : `All ${all.length} upstreams are up`;
  }
  const isUnseen = upstreams.every(({ counts }) => counts.polls + counts.skipped === 0);
  if (isUnseen && sick.length === all.length && sick.every(({ state }) => state === "unknown"))
    return "Nothing is known yet: the first look is under way";
  if (surroundingsIn(snapshot).isOffline) return "No upstream can be reached: it is probably us";
  if (sick.length <= NAMED) return sick.map(({ name, state }) => `${name} ${HEALTH_WORDS[state]}`).join(", ");
  const counts = SICKEST_FIRST.map(
    (state) => [sick.filter((upstream) => upstream.state === state).length, COUNTED[state]] as const,
  );
  const told = counts.filter(([count]) => count > 0).map(([count, words]) => `${count} ${words}`);
  return `Of ${all.length} upstreams: ${told.join(", ")}`;
}

/** As the page shows them. */
function sickestFirst(upstreams: readonly Elsewhere[]): readonly Elsewhere[] {
  return upstreams.toSorted(
    (a, b) =>
      SICKEST_FIRST.indexOf(a.state) - SICKEST_FIRST.indexOf(b.state) ||
      (a.state === "up" ? 0 : b.sinceMs - a.sinceMs),
  );
}

/** What is the matter with Pacewatch itself, if anything is. */
function notices({ stateStoreUp, lastReload, nowMs }: StatusSnapshot): readonly Markup[] {
  return [
    ...(lastReload.successful
      ? []
      : [
          html`<p class="notice">
            <strong>The changed config cannot be used.</strong> The one of
            ${moment(lastReload.lastSuccessAtMs, nowMs)} runs on; the log tells the faults.
          </p>`,
        ]),
    ...(stateStoreUp === false
      ? [
          html`<p class="notice">
            <strong>The state file cannot be written.</strong> The polls go on; what is seen now is lost at a
            restart.
          </p>`,
        ]
      : []),
  ];
}
