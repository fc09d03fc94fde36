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
import { ago, type Column, icon, type Markup, scrollTable, section } from "./markup.ts";

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
type RemoteUpstream = WithState & { readonly name: string; readonly sinceMs: number };

/** Empty in the mode `everywhere`, where this replica polls all of them itself. */
export function remoteUpstreams(
  fleet: FleetStatus | undefined,
  { upstreams, nowMs }: Status,
): readonly RemoteUpstream[] {
  if (fleet?.mode !== "shard") return [];
  const here = new Set(Array.from(upstreams, ({ name }) => name));
  return fleet.upstreams
    .filter(({ name }) => !here.has(name))
    .map((upstream) => {
      const { name, holder, views } = upstream;
      const { state = "unknown", sinceMs = nowMs } = views[0] ?? {};
      // Without a holder nobody polls it, so its last reported state says nothing about now.
      return { upstream, name, state: holder === undefined ? "unknown" : state, sinceMs };
    });
}

function remoteTable(fleet: FleetStatus, status: Status): Markup | string {
  const remote = remoteUpstreams(fleet, status);
  if (remote.length === 0) return "";
  const urls = urlsOf(fleet);
  const columns = [{ title: "Upstream" }, { title: "State" }, { title: "Polled by" }, { title: "Last poll" }];
  return worstTable("Polled by other replicas", "elsewhere", columns, remote, ({ upstream, state }) =>
    remoteRow(upstream, state, urls, status.nowMs),
  );
}

type WithState = { readonly upstream: FleetUpstream; readonly state: HealthState };

/** The worst first, and only as many as are shown. Equal states keep their order. */
function worstTable(
  title: string,
  className: string,
  columns: readonly Column[],
  upstreams: readonly WithState[],
  row: (upstream: WithState) => Markup,
): Markup {
  const sorted = worstFirst(upstreams, ({ state }) => ({ state, sinceMs: 0 }));
  const more = sorted.length - ROWS_SHOWN;
  return html`<h3>${title}</h3>
    ${scrollTable(title, className, columns, sorted.slice(0, ROWS_SHOWN).map(row))}
    ${more > 0 ? html`<p class="of">${more} more: <a href="api/v1/fleet">as JSON</a></p>` : ""}`;
}

function remoteRow(
  { name, holder, views: [view] }: FleetUpstream,
  state: HealthState,
  urls: ReadonlyMap<string, string>,
  nowMs: number,
): Markup {
  const url = urls.get(holder ?? "") ?? "";
  const page = pageAt(url, `upstreams/${name}`);
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
  const all = fleet.upstreams.map((upstream) => ({ upstream, state: worst(upstream) }));
  const urls = urlsOf(fleet);
  const columns = [{ title: "Upstream" }, { title: "Up", isNumber: true }, { title: "Not up, or slow" }];
  return worstTable("By vantage", "vantages", columns, all, ({ upstream }) => vantageRow(upstream, urls));
}

function vantageRow({ name, views }: FleetUpstream, urls: ReadonlyMap<string, string>): Markup {
  // What is slow is up.
  const up = views.filter(({ state }) => state === "up" || state === "degraded").length;
  const unwell = views.filter(({ state }) => state !== "up");
  const path = `upstreams/${name}`;
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

function urlsOf({ replicas }: FleetStatus): ReadonlyMap<string, string> {
  return new Map(replicas.map(({ name, url }) => [name, url]));
}

function pageAt(url: string, path: string): string {
  return `${url.replace(/\/$/, "")}/${path}`;
}
