import { html } from "hono/html";
import { incidentsOfAll } from "../status/incidents.ts";
import { eachInPieces, type Pieces } from "../../http/routes/pieces.ts";
import type { BudgetStatus, FleetStatus, Status, UpstreamFacts, UpstreamSummary } from "../status/status.ts";
import { STATE_WORDS } from "../history/words.ts";
import { WORST_FIRST, worstFirst } from "../status/worst-first.ts";
import { HOUR_MS } from "../../kernel/time/duration.ts";
import type { Block } from "../../http/markup/block.ts";
import { budgetCard } from "./budget-card.ts";
import { incidentList } from "./incident-list.ts";
import { list, type Markup, moment, section } from "../../http/markup/markup.ts";
import { type Drawn, legendLine, plot, type TimeAxis, times } from "./plot.ts";
import { plotLegend } from "./plot-kinds.ts";
import { pageShell, rangeLinks, type View } from "./shell.ts";
import { upstreamCard } from "./upstream-card.ts";
import { dateTime } from "../../kernel/time/civil-day.ts";

/** So many cards are too many to look through for a name. */
const LISTED_ABOVE = 30;

/** Only these are drawn, the worst first: more would make a page of megabytes. */
const UPSTREAMS_DRAWN = 100;

/** More are counted only. The paused ones come first: they are why polls are missing. */
const BUDGETS_DRAWN = 100;

/** Older incidents are in the JSON and on the pages of the upstreams. */
const INCIDENTS_SHOWN = 20;

export function* renderStatusPage(status: Status, view: View, blocks: readonly Block[]): Pieces {
  const { fleet } = status;
  if (fleet?.isLeading === false) {
    yield standbyPage(fleet, status, view);
    return;
  }
  const upstreams = yield* eachInPieces(status.upstreams, (upstream) => upstream);
  const title = headline(upstreams, status);
  const byHealth = worstFirst(upstreams, ({ health }) => health);
  yield;
  const isSick = (upstream: UpstreamSummary): boolean =>
    (upstream.health.state !== "up" && !isUndue(upstream)) || creditPages(upstream, status.nowMs);
  const {
    undue = [],
    sick = [],
    missing = [],
    healthy = [],
  } = Object.groupBy(byHealth, (upstream) =>
    isSick(upstream) ? "sick" : isUndue(upstream) ? "undue" : misses(upstream) ? "missing" : "healthy",
  );
  const axis = { range: view.range, nowMs: status.nowMs };
  const leads =
    fleet?.leader &&
    html`<p class="of">${fleet.name} has led since ${moment(fleet.leader.sinceMs, status.nowMs)}</p>`;
  const body = html`<h1>${title}</h1>
    ${seenFrom(status)} ${leads ?? ""} ${notices(status)}
    ${upstreams.length === 0 ? section("Upstreams", html`<p class="none">${NONE_CONFIGURED}</p>`) : ""}
    ${upstreams.length > LISTED_ABOVE ? yield* allByState(upstreams) : ""}
    ${upstreams.length === 0 ? "" : html`<div class="plots">${rangeLinks("./", view)} ${plotLegend(legendLine("objective", "objective of the latency"))}</div>`}
    ${yield* upstreamList("Needs attention", sick, axis, status)} ${yield* sideBySide(byHealth, axis, status)}
    ${yield* upstreamList("Missed their objective in the last hour", missing, axis, status)}
    ${yield* upstreamList("Healthy", healthy, axis, status)}
    ${yield* upstreamList("No slot was due yet", undue, axis, status)}
    ${section("Budgets", yield* budgetList(status, blocks))}
    ${section("Incidents", yield* lastIncidents(status))}`;
  yield pageShell({ title, root: "./", self: "./", view, body }, status);
}

function seenFrom({ vantage }: Pick<Status, "vantage">): Markup | "" {
  return vantage === undefined
    ? ""
    : html`<p class="of">Seen from ${vantage.name}, one of ${vantage.of} vantages</p>`;
}

/** The whole page in one line, also for the browser's tab. */
function headline(upstreams: readonly UpstreamSummary[], status: Status): string {
  const states = stateLine(upstreams, status);
  // What is not up was told.
  const missing = upstreams.filter((upstream) => upstream.health.state === "up" && misses(upstream));
  if (!status.ready || missing.length === 0) return states;
  if (upstreams.length === 1) return `${states}, but missed its objective in the last hour`;
  const [whose, their] =
    missing.length <= NAMED
      ? [missing.map(({ name }) => name).join(" and "), missing.length === 1 ? "its" : "their"]
      : [String(missing.length), "their"];
  return `${states}; ${whose} missed ${their} objective in the last hour`;
}

/** As on a weekend with a cron of office hours. */
function isUndue({ health, counts }: UpstreamSummary): boolean {
  return health.state === "unknown" && counts.slots + counts.waiting === 0;
}

function misses({ missedLastHour }: UpstreamSummary): boolean {
  return missedLastHour.length > 0;
}

function stateLine(upstreams: readonly UpstreamSummary[], status: Status): string {
  if (!status.ready) return "Pacewatch is not polling now";
  const all = upstreams.map(({ name, health }) => ({ name, ...health }));
  const sick = worstFirst(all, (upstream) => upstream).filter(({ state }) => state !== "up");
  const [first, second, ...others] = all;
  if (first === undefined) return "No upstreams are configured";
  const ending = upstreams.filter((upstream) => creditPages(upstream, status.nowMs));
  if (sick.length === 0 && ending.length > 0) {
    const whose =
      ending.length <= NAMED ? ending.map(({ name }) => name).join(" and ") : `${ending.length} upstreams`;
    const isEmpty = ending.every(({ creditEndsAtMs = 0 }) => creditEndsAtMs <= status.nowMs);
    return `The credit of ${whose} is ${isEmpty ? "empty" : "empty, or is within hours"}`;
  }
  if (sick.length === 0) {
    if (second === undefined) return `${first.name} is up`;
    return others.length === 0 ? "Both upstreams are up" : `All ${all.length} upstreams are up`;
  }
  const isStarting =
    upstreams.length > 0 && upstreams.every(({ counts }) => counts.polls + counts.skipped === 0);
  if (isStarting && sick.length === all.length && sick.every(({ state }) => state === "unknown"))
    return startLine(upstreams, status);
  if (status.offline) return "No upstream can be reached: probably our own network";
  if (sick.length <= NAMED)
    return sick.map(({ name, state }) => `${name} ${STATE_WORDS[state].sentence}`).join(", ");
  const counts = WORST_FIRST.map(
    (state) =>
      [sick.filter((upstream) => upstream.state === state).length, STATE_WORDS[state].counted] as const,
  ).filter(([count]) => count > 0);
  return `Of ${all.length} upstreams: ${counts.map(([count, words]) => `${count} ${words}`).join(", ")}`;
}

/** An incident that was open before a restart is no news, but nobody may miss it. */
function startLine(upstreams: readonly UpstreamSummary[], status: Status): string {
  const open = upstreams.flatMap(({ name }) =>
    status.incidentsOf(name).filter(({ endedAtMs }) => endedAtMs === undefined),
  );
  if (open.length === 0) {
    const any = (which: "inFlight" | "waiting"): boolean => upstreams.some(({ counts }) => counts[which] > 0);
    if (any("inFlight")) return "No results yet: the first polls are running";
    return `No results yet: ${any("waiting") ? "the first polls are waiting for their budgets" : "no poll was due since the start"}`;
  }
  if (open.length > NAMED) return `${open.length} upstreams were not ok, looking again`;
  const were = open.map(({ upstream, state }) => `${upstream} was ${STATE_WORDS[state].counted}`);
  return `${were.join(", ")}, looking again`;
}

/** As PacewatchCreditEnding pages. */
const CREDIT_PAGES_MS = 6 * HOUR_MS;

function creditPages({ creditEndsAtMs = Infinity }: UpstreamSummary, nowMs: number): boolean {
  return creditEndsAtMs < nowMs + CREDIT_PAGES_MS;
}

/** The headline names this many upstreams. More are counted. */
const NAMED = 2;

/** What is wrong with Pacewatch itself. */
function notices({ stateStoreUp, stateLostAtMs, lastReload, nowMs }: Status): readonly Markup[] {
  const { successful, lastSuccessAtMs, fault } = lastReload;
  const first = fault === undefined ? html`` : html` Its first fault: <code>${fault}</code>.`;
  const reloadFailed = html`<p class="notice">
    <strong>The new config was refused.</strong> Pacewatch still uses the one from
    ${moment(lastSuccessAtMs, nowMs)}.${first} The log has all.
  </p>`;
  const notWritten = html`<p class="notice">
    <strong>The state file cannot be written.</strong> Polls continue, but after a restart their history is
    lost, and all quotas count as used.
  </p>`;
  const lost = (atMs: number): Markup =>
    html`<p class="notice">
      <strong>The state file was damaged</strong> at ${moment(atMs, nowMs)}: what came before is lost. Where a
      quota&rsquo;s count is lost too, all of it counts as used, until
      <code>pacewatch quota BUDGET --used N</code> says what was.
    </p>`;
  return [
    ...(successful ? [] : [reloadFailed]),
    ...(stateStoreUp === false ? [notWritten] : []),
    ...(stateLostAtMs === undefined ? [] : [lost(stateLostAtMs)]),
  ];
}

const NONE_CONFIGURED = "None is configured. Add one to the config file: it is reloaded when it changes.";

/** It knows nothing of any upstream, and never says that one is up. */
function standbyPage(fleet: FleetStatus, status: Status, view: View): string {
  const { nowMs } = status;
  const { leader, lockAwaySinceMs, isForeign } = fleet;
  const title = standbyTitle(fleet, nowMs);
  const link =
    leader?.url &&
    html`<p><a href="${leader.url}" rel="noopener noreferrer">Its page</a> shows the upstreams.</p>`;
  const away =
    lockAwaySinceMs !== undefined &&
    html`<p class="notice">
      <strong>The lock does not answer</strong> since ${moment(lockAwaySinceMs, nowMs)}: who leads by now is
      not known.
    </p>`;
  const foreign =
    isForeign &&
    html`<p class="notice">
      <strong>What stands at the lock&rsquo;s place is not ours</strong>, or of a newer version: nothing is
      written over it, and nobody leads until it is gone.
    </p>`;
  const body = html`<h1>${title}</h1>
    <p>This process polls nothing, and takes over when nobody leads.</p>
    ${seenFrom(status)} ${link || ""} ${away || ""} ${foreign || ""} ${notices(status)}`;
  return pageShell({ title, root: "./", self: "./", view, body }, status);
}

/** Said as long as the lock answers: what was so before is not known any more. */
export function standbyTitle({ leader, lockAwaySinceMs }: FleetStatus, nowMs: number): string {
  if (leader === undefined) return "Standing by. Nobody is known to lead";
  if (lockAwaySinceMs !== undefined)
    return `Standing by. ${leader.name} led until the lock was lost from sight`;
  const isToday = dateTime(leader.sinceMs).slice(0, 10) === dateTime(nowMs).slice(0, 10);
  const since = isToday ? dateTime(leader.sinceMs).slice(11) : dateTime(leader.sinceMs);
  return `Standing by. ${leader.name} has led since ${since}`;
}

const MISSING = "missing";

/** Every upstream by name, the worst states first. */
function* allByState(upstreams: readonly UpstreamSummary[]): Pieces<Markup> {
  const groups = Map.groupBy(upstreams, (upstream) =>
    upstream.health.state === "up" && misses(upstream) ? MISSING : upstream.health.state,
  );
  const parts: Markup[] = [];
  for (const group of [...WORST_FIRST.filter((state) => state !== "up"), MISSING, "up"] as const) {
    const those = groups.get(group) ?? [];
    if (those.length === 0) continue;
    const links = yield* eachInPieces(those, ({ name }) => html`<a href="upstreams/${name}">${name}</a> `);
    const title = group === MISSING ? "Up, but missed their objective" : STATE_WORDS[group].title;
    parts.push(
      html`<dt>${title}: ${those.length}</dt>
        <dd>${links}</dd>`,
    );
  }
  return section(`All ${upstreams.length} upstreams`, html`<dl class="all">${parts}</dl>`);
}

function* upstreamList(
  title: string,
  upstreams: readonly UpstreamSummary[],
  axis: TimeAxis,
  status: Status,
): Pieces<Markup | string> {
  if (upstreams.length === 0) return "";
  const more = upstreams.length - UPSTREAMS_DRAWN;
  const cards = yield* eachInPieces(upstreams.slice(0, UPSTREAMS_DRAWN), ({ name }) => {
    const facts = status.facts(name);
    return facts === undefined ? "" : upstreamCard(facts, drawnOf(facts, axis, status), axis, status);
  });
  const left = more > 0 ? html`<p class="of">${more} more are in the list above.</p>` : "";
  return section(title, list("upstreams", cards), left);
}

const ROW_HEIGHT = 24;

/** One below the other on one axis: what happened to several at the same moment is seen as one. */
function* sideBySide(
  upstreams: readonly UpstreamSummary[],
  axis: TimeAxis,
  status: Status,
): Pieces<Markup | string> {
  if (upstreams.length < 2) return "";
  const rows = yield* eachInPieces(upstreams.slice(0, UPSTREAMS_DRAWN), ({ name }) => {
    const facts = status.facts(name);
    if (facts === undefined) return "";
    const size = { stripHeight: ROW_HEIGHT, incidentsAt: `upstreams/${name}` };
    return html`<li>
      <a href="upstreams/${name}">${name}</a> ${plot(drawnOf(facts, axis, status), axis, size)}
    </li>`;
  });
  const axisRow = html`<li><span></span> ${times(axis, false)}</li>`;
  return section(html`Side by side <span class="of">times are UTC</span>`, list("rows", [...rows, axisRow]));
}

function drawnOf(facts: UpstreamFacts, { range }: TimeAxis, status: Status): Drawn {
  const { name } = facts;
  return { ...facts, seen: status.columns(name, range), incidents: status.incidentsOf(name) };
}

function* budgetList(status: Status, blocks: readonly Block[]): Pieces<Markup> {
  const { nowMs } = status;
  const budgets = (yield* eachInPieces(status.budgets, (name) => status.budget(name))).filter(
    (budget) => budget !== undefined,
  );
  if (budgets.length === 0) return html`<p class="none">None is configured.</p>`;
  const more = budgets.length - BUDGETS_DRAWN;
  const cards = pausedFirst(budgets, nowMs).map((budget) => budgetCard(budget, nowMs, blocks));
  return html`${list("budgets", cards)}
  ${more > 0 ? html`<p class="of">${more} more: <a href="api/v1/upstreams">as JSON</a></p>` : ""}`;
}

/** Where there are too many to draw; otherwise they keep the order of the config. */
function pausedFirst(budgets: readonly BudgetStatus[], nowMs: number): readonly BudgetStatus[] {
  if (budgets.length <= BUDGETS_DRAWN) return budgets;
  const isPaused = ({ pausedUntilMs }: BudgetStatus): boolean => pausedUntilMs > nowMs;
  return budgets.toSorted((a, b) => Number(isPaused(b)) - Number(isPaused(a))).slice(0, BUDGETS_DRAWN);
}

function* lastIncidents(status: Status): Pieces<Markup> {
  const { nowMs, startedAtMs } = status;
  const incidents = yield* incidentsOfAll(status);
  if (incidents.length === 0)
    return html`<p class="none">
      None on record. Pacewatch has been running since ${dateTime(startedAtMs)}.
    </p>`;
  const older = incidents.length - INCIDENTS_SHOWN;
  return html`${incidentList(incidents.slice(0, INCIDENTS_SHOWN), nowMs, true)}
  ${older > 0 ? html`<p class="of">${older} older ones: <a href="api/v1/incidents">as JSON</a></p>` : ""}`;
}
