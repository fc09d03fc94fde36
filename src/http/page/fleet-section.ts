import { html } from "hono/html";
import type { FleetReplica, FleetStatus, FleetUpstream, FleetView } from "../../core/fleet/fleet-status.ts";
import type { HealthState } from "../../core/poll/health.ts";
import { SICKEST_FIRST } from "../../core/status/sickness.ts";
import { spokenLatency } from "../../core/status/spoken.ts";
import type { StatusSnapshot } from "../../core/status/status.ts";
import { ago, type Markup, sign } from "./markup.ts";
import { HEALTH_TITLES } from "./wording.ts";

/** More are in the JSON. */
const ROWS_SHOWN = 200;

/** An upstream that this replica's own snapshot does not show: in the words of whoever holds it. */
export type Elsewhere = { readonly name: string; readonly state: HealthState; readonly sinceMs: number };

/** What this page does not show by itself: in `everywhere`, nothing. */
export function elsewhereIn(
  fleet: FleetStatus | undefined,
  { upstreams, nowMs }: StatusSnapshot,
): readonly Elsewhere[] {
  if (fleet?.mode !== "shard") return [];
  const here = new Set(upstreams.map(({ name }) => name));
  return fleet.upstreams
    .filter(({ name }) => !here.has(name))
    .map(({ name, holder, views: [view] }) => ({
      name,
      // What nobody looks at is not known, whatever it was when somebody did.
      state: holder === undefined ? "unknown" : (view?.state ?? "unknown"),
      sinceMs: view?.sinceMs ?? nowMs,
    }));
}

export function fleetSection(fleet: FleetStatus, snapshot: StatusSnapshot): Markup {
  const { replicas } = fleet;
  return html`<section>
    <h2>Fleet</h2>
    <p>${standingLine(fleet)}</p>
    <div class="wide" role="region" aria-label="Replicas" tabindex="0">
      <table class="replicas">
        <thead>
          <tr>
            <th scope="col">Replica</th>
            <th scope="col" class="number">Upstreams</th>
            <th scope="col">Where</th>
          </tr>
        </thead>
        <tbody>
          ${replicas.map(replicaRow)}
        </tbody>
      </table>
    </div>
    ${fleet.mode === "shard" ? othersTable(fleet, snapshot) : vantagesTable(fleet)}
    <p class="of">As JSON: <a href="api/v1/fleet">the fleet</a></p>
  </section>`;
}

function standingLine({ mode, name, redisUp, sessionValid, replicas }: FleetStatus): Markup {
  const others = replicas.filter(({ isThisOne }) => !isThisOne).length;
  const words =
    mode === "shard" ? "Each upstream is polled by one replica." : "All replicas poll all upstreams.";
  const trouble = redisUp
    ? ""
    : html` <strong>Redis does not answer: what is told of the others is old.</strong>`;
  const unsure = sessionValid ? "" : html` <strong>This replica has no place in the fleet now.</strong>`;
  return html`This is <b>${name}</b>, with ${others} ${others === 1 ? "other" : "others"}.
    ${words}${trouble}${unsure}`;
}

function replicaRow({ name, url, held, isThisOne, isLeaving }: FleetReplica): Markup {
  return html`<tr>
    <th scope="row">${isThisOne || url === "" ? name : html`<a href="${pageAt(url, "")}">${name}</a>`}</th>
    <td class="number">${held}</td>
    <td>${isThisOne ? "this one" : url}${isLeaving ? ", leaving" : ""}</td>
  </tr>`;
}

function othersTable(fleet: FleetStatus, snapshot: StatusSnapshot): Markup | string {
  const foreign = new Map(elsewhereIn(fleet, snapshot).map((upstream) => [upstream.name, upstream.state]));
  const rows = bySickest(
    fleet.upstreams.filter(({ name }) => foreign.has(name)),
    ({ name }) => foreign.get(name) ?? "unknown",
  );
  if (rows.length === 0) return "";
  const urls = urlsOf(fleet);
  return html`<h3>Polled by others</h3>
    <div class="wide" role="region" aria-label="Polled by others" tabindex="0">
      <table class="elsewhere">
        <thead>
          <tr>
            <th scope="col">Upstream</th>
            <th scope="col">State</th>
            <th scope="col">Polled by</th>
            <th scope="col">Last poll</th>
          </tr>
        </thead>
        <tbody>
          ${rows
            .slice(0, ROWS_SHOWN)
            .map((row) => otherRow(row, foreign.get(row.name) ?? "unknown", urls, snapshot.nowMs))}
        </tbody>
      </table>
    </div>
    ${moreLine(rows.length)}`;
}

function otherRow(
  { name, holder, views: [view] }: FleetUpstream,
  state: HealthState,
  urls: ReadonlyMap<string, string>,
  nowMs: number,
): Markup {
  const url = urls.get(holder ?? "") ?? "";
  const page = pageAt(url, `upstreams/${encodeURIComponent(name)}`);
  return html`<tr class="${state}">
    <th scope="row">${url === "" ? name : html`<a href="${page}">${name}</a>`}</th>
    <td>${sign(state)} <b>${HEALTH_TITLES[state]}</b></td>
    <td>${holder ?? html`<strong>nobody now</strong>`}</td>
    <td>${lastPoll(view, nowMs)}</td>
  </tr>`;
}

function lastPoll(view: FleetView | undefined, nowMs: number): Markup {
  if (view?.lastPollAtMs === undefined) return html`none yet`;
  const { lastDurationMs } = view;
  const took = lastDurationMs === undefined ? "" : html`, after ${spokenLatency(lastDurationMs)}`;
  return html`${ago(Math.min(view.lastPollAtMs, nowMs), nowMs)}${took}`;
}

/** Down is what most of them say; so it tells how many do. */
function vantagesTable(fleet: FleetStatus): Markup {
  const worst = (upstream: FleetUpstream): HealthState =>
    SICKEST_FIRST.find((state) => upstream.views.some((view) => view.state === state)) ?? "unknown";
  const rows = bySickest(fleet.upstreams, worst);
  const urls = urlsOf(fleet);
  return html`<h3>From each vantage</h3>
    <div class="wide" role="region" aria-label="From each vantage" tabindex="0">
      <table class="vantages">
        <thead>
          <tr>
            <th scope="col">Upstream</th>
            <th scope="col" class="number">Up</th>
            <th scope="col">Otherwise</th>
          </tr>
        </thead>
        <tbody>
          ${rows.slice(0, ROWS_SHOWN).map((row) => vantageRow(row, urls))}
        </tbody>
      </table>
    </div>
    ${moreLine(rows.length)}`;
}

function vantageRow({ name, views }: FleetUpstream, urls: ReadonlyMap<string, string>): Markup {
  const sick = views.filter(({ state }) => state !== "up");
  const page = (url: string): string => pageAt(url, `upstreams/${encodeURIComponent(name)}`);
  return html`<tr>
    <th scope="row"><a href="upstreams/${encodeURIComponent(name)}">${name}</a></th>
    <td class="number">${views.length - sick.length} of ${views.length}</td>
    <td>
      ${sick.map(({ vantage, state }) => {
        const url = urls.get(vantage) ?? "";
        return html`<span class="${state}"
          >${url === "" ? vantage : html`<a href="${page(url)}">${vantage}</a>`}:
          <b>${HEALTH_TITLES[state]}</b>
        </span>`;
      })}
    </td>
  </tr>`;
}

function moreLine(rows: number): Markup | string {
  const more = rows - ROWS_SHOWN;
  return more > 0 ? html`<p class="of">${more} more: <a href="api/v1/fleet">as JSON</a></p>` : "";
}

function bySickest(
  upstreams: readonly FleetUpstream[],
  stateOf: (upstream: FleetUpstream) => HealthState,
): readonly FleetUpstream[] {
  return upstreams.toSorted((a, b) => SICKEST_FIRST.indexOf(stateOf(a)) - SICKEST_FIRST.indexOf(stateOf(b)));
}

function urlsOf({ replicas }: FleetStatus): ReadonlyMap<string, string> {
  return new Map(replicas.map(({ name, url }) => [name, url]));
}

function pageAt(url: string, path: string): string {
  return `${url.replace(/\/$/, "")}/${path}`;
}
