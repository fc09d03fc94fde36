import { html } from "hono/html";
import type {
  FleetReplica,
  FleetStatus,
  FleetUpstream,
  FleetView,
  FleetWait,
} from "../../core/fleet/fleet-status.ts";
import type { HealthState } from "../../core/poll/health.ts";
import { humanLatency } from "../../core/status/humanize.ts";
import type { Status } from "../../core/status/status.ts";
import { STATE_WORDS } from "../../core/status/words.ts";
import { WORST_FIRST, worstFirst } from "../../core/status/worst-first.ts";
import { ago, icon, type Markup, scrollTable, section } from "./markup.ts";

/** What its page calls "1 h ago" misleads. */
const TOLD_CLOCK_MS = 5_000;
/** The JSON has all of them. */
const ROWS_SHOWN = 200;

export function fleetSection(fleet: FleetStatus, status: Status): Markup {
  const columns = [{ title: "Replica" }, { title: "Upstreams", isNumber: true }, { title: "Where" }];
  return section(
    "Fleet",
    html`<p>${summaryLine(fleet)}</p>`,
    scrollTable("Replicas", "replicas", columns, fleet.replicas.map(replicaRow)),
    fleet.mode === "shard" ? remoteTable(fleet, status) : vantageTable(fleet),
    html`<p class="of">As JSON: <a href="api/v1/fleet">the fleet</a></p>`,
  );
}

function summaryLine(fleet: FleetStatus): Markup {
  const { mode, name, redisUp, sessionValid, replicas, configs, waitsFor } = fleet;
  const others = replicas.filter(({ isThisOne }) => !isThisOne).length;
  const division =
    mode === "shard" ? "Each upstream is polled by one replica." : "All replicas poll all upstreams.";
  const stale = html` <strong>Redis does not answer: what this page shows of other replicas is old.</strong>`;
  const lost = html` <strong>This replica has no valid session in the fleet.</strong>`;
  const differ = html` <strong>Replicas run ${configs} different configs.</strong>`;
  const waits = waitsFor === undefined ? "" : html` <strong>${WAITS[waitsFor]}</strong>`;
  return html`This is <b>${name}</b>, with ${others} other ${others === 1 ? "replica" : "replicas"}.
    ${division}${redisUp ? "" : stale}${sessionValid ? "" : lost}${configs > 1 ? differ : ""}${waits}`;
}

const WAITS: Readonly<Record<FleetWait, string>> = {
  older_version: "It waits: replicas of an older version still run.",
  new_board: "Redis has lost its data: replicas first go on with what they held.",
  part: "It waits: other replicas have all parts of the budgets.",
};

function replicaRow({ name, url, held, isThisOne, isLeaving, isNew, clockAheadMs }: FleetReplica): Markup {
  return html`<tr>
    <th scope="row">${isThisOne || url === "" ? name : html`<a href="${pageAt(url, "")}">${name}</a>`}</th>
    <td class="number">${held}</td>
    <td>
      ${isThisOne ? "this one" : url}${isLeaving ? ", leaving" : ""}${isNew ? ", new: takes nothing yet" : ""}${clockNote(clockAheadMs)}
    </td>
  </tr>`;
}

/** Its times are by its own clock. */
function clockNote(aheadMs: number): string {
  if (Math.abs(aheadMs) < TOLD_CLOCK_MS) return "";
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  return `, its clock is ${seconds} s ${aheadMs > 0 ? "ahead" : "behind"}`;
}

/** An upstream that another replica polls, in the state that its holder reported. */
export type RemoteUpstream = { readonly name: string; readonly state: HealthState; readonly sinceMs: number };

/** Empty in the mode `everywhere`, where this replica polls all of them itself. */
export function remoteUpstreams(
  fleet: FleetStatus | undefined,
  { upstreams, nowMs }: Status,
): readonly RemoteUpstream[] {
  if (fleet?.mode !== "shard") return [];
  const here = new Set(Array.from(upstreams, ({ name }) => name));
  return fleet.upstreams
    .filter(({ name }) => !here.has(name))
    .map(({ name, holder, views: [view] }) => ({
      name,
      // Without a holder nobody polls it, so its last reported state says nothing about now.
      state: holder === undefined ? "unknown" : (view?.state ?? "unknown"),
      sinceMs: view?.sinceMs ?? nowMs,
    }));
}

function remoteTable(fleet: FleetStatus, status: Status): Markup | string {
  const states = new Map(remoteUpstreams(fleet, status).map(({ name, state }) => [name, state]));
  const remote = fleet.upstreams.flatMap((upstream) => {
    const state = states.get(upstream.name);
    return state === undefined ? [] : [{ upstream, state }];
  });
  if (remote.length === 0) return "";
  const urls = urlsOf(fleet);
  const columns = [{ title: "Upstream" }, { title: "State" }, { title: "Polled by" }, { title: "Last poll" }];
  const rows = byState(remote).map(({ upstream, state }) => remoteRow(upstream, state, urls, status.nowMs));
  return html`<h3>Polled by other replicas</h3>
    ${scrollTable("Polled by other replicas", "elsewhere", columns, rows)} ${moreLine(remote.length)}`;
}

function remoteRow(
  { name, holder, views: [view] }: FleetUpstream,
  state: HealthState,
  urls: ReadonlyMap<string, string>,
  nowMs: number,
): Markup {
  const url = urls.get(holder ?? "") ?? "";
  const page = pageAt(url, `upstreams/${encodeURIComponent(name)}`);
  return html`<tr class="${state}">
    <th scope="row">${url === "" ? name : html`<a href="${page}">${name}</a>`}</th>
    <td>${icon(state)} <b>${STATE_WORDS[state].title}</b></td>
    <td>${holder ?? html`<strong>nobody now</strong>`}</td>
    <td>${lastPoll(view, nowMs)}</td>
  </tr>`;
}

function lastPoll(view: FleetView | undefined, nowMs: number): Markup {
  if (view?.lastPollAtMs === undefined) return html`none yet`;
  const { lastDurationMs } = view;
  const took = lastDurationMs === undefined ? "" : html`, after ${humanLatency(lastDurationMs)}`;
  return html`${ago(Math.min(view.lastPollAtMs, nowMs), nowMs)}${took}`;
}

/** Each upstream as every replica sees it. */
function vantageTable(fleet: FleetStatus): Markup {
  const worst = ({ views }: FleetUpstream): HealthState =>
    WORST_FIRST.find((state) => views.some((view) => view.state === state)) ?? "unknown";
  const sorted = byState(fleet.upstreams.map((upstream) => ({ upstream, state: worst(upstream) })));
  const urls = urlsOf(fleet);
  const columns = [{ title: "Upstream" }, { title: "Up", isNumber: true }, { title: "Not up, or slow" }];
  const rows = sorted.map(({ upstream }) => vantageRow(upstream, urls));
  return html`<h3>By vantage</h3>
    ${scrollTable("By vantage", "vantages", columns, rows)} ${moreLine(fleet.upstreams.length)}`;
}

function vantageRow({ name, views }: FleetUpstream, urls: ReadonlyMap<string, string>): Markup {
  // What is slow is up.
  const up = views.filter(({ state }) => state === "up" || state === "degraded").length;
  const unwell = views.filter(({ state }) => state !== "up");
  const path = `upstreams/${encodeURIComponent(name)}`;
  return html`<tr>
    <th scope="row"><a href="${path}">${name}</a></th>
    <td class="number">${up} of ${views.length}</td>
    <td>
      ${unwell.map(({ vantage, state }) => {
        const url = urls.get(vantage) ?? "";
        return html`<span class="${state}"
          >${url === "" ? vantage : html`<a href="${pageAt(url, path)}">${vantage}</a>`}:
          <b>${STATE_WORDS[state].title}</b>
        </span>`;
      })}
    </td>
  </tr>`;
}

type WithState = { readonly upstream: FleetUpstream; readonly state: HealthState };

/** The worst first, and only as many as are shown. Equal states keep their order. */
function byState(upstreams: readonly WithState[]): readonly WithState[] {
  return worstFirst(upstreams, ({ state }) => ({ state, sinceMs: 0 })).slice(0, ROWS_SHOWN);
}

function moreLine(rows: number): Markup | string {
  const more = rows - ROWS_SHOWN;
  return more > 0 ? html`<p class="of">${more} more: <a href="api/v1/fleet">as JSON</a></p>` : "";
}

function urlsOf({ replicas }: FleetStatus): ReadonlyMap<string, string> {
  return new Map(replicas.map(({ name, url }) => [name, url]));
}

function pageAt(url: string, path: string): string {
  return `${url.replace(/\/$/, "")}/${path}`;
}
