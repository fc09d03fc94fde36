import { html } from "hono/html";
import { SKIPS } from "../../kernel/exchange/outcome.ts";
import { reasonWords } from "../../kernel/exchange/reasons.ts";
import { counted } from "../../kernel/exchange/json-value.ts";
import { humanLatency } from "../../platform/humanize.ts";
import type { Status, UpstreamFacts } from "../status/status.ts";
import type { Columns } from "../history/timeline.ts";
import type { Pieces } from "../../http/routes/pieces.ts";
import { budgetsOf } from "../status/verdict.ts";
import { STATE_WORDS } from "../history/words.ts";
import { capText } from "../../kernel/text/escape.ts";
import type { Block } from "../../http/markup/block.ts";
import { calendar } from "./calendar.ts";
import { budgetCard } from "./budget-card.ts";
import { failureList, NONE_ON_RECORD } from "./failure-list.ts";
import { incidentList } from "./incident-list.ts";
import {
  type Column,
  icon,
  list,
  type Markup,
  moment,
  scrollTable,
  section,
  untrusted,
} from "../../http/markup/markup.ts";
import { type Drawn, latencyLegend, plot, times } from "./plot.ts";
import { KINDS, kindOf, plotLegend } from "./plot-kinds.ts";
import { pageShell, rangeLinks, type View } from "./shell.ts";
import { standbyTitle } from "./status-page.ts";
import { inNumbers, missedLine, reasonLine, stateLine } from "./upstream-card.ts";
import { dateTime } from "../../kernel/time/civil-day.ts";
import type { PollStatus } from "../history/kept-poll.ts";

const LATENCY_HEIGHT = 200;
const STRIP_HEIGHT = 30;

/** `seen` is what its plot shows, `days` what its calendar does. */
export function* renderUpstreamPage(
  upstream: UpstreamFacts,
  { seen, days }: { readonly seen: Columns; readonly days: Columns },
  status: Status,
  view: View,
  blocks: readonly Block[],
): Pieces {
  const { name } = upstream;
  const details = status.details(name);
  const budgets = budgetsOf(upstream, status);
  const incidents = status.incidentsOf(name);
  const { nowMs } = status;
  const drawn: Drawn = { ...upstream, seen, incidents };
  const axis = { range: view.range, nowMs };
  const hasReports = status.stateStoreUp !== undefined;
  const labels = Object.entries(upstream.labels).map(([key, value]) => html` · ${key} <b>${value}</b>`);
  const links = Object.entries(upstream.links ?? {}).map(
    ([key, url]) => html` · <a href="${url}" rel="noopener noreferrer">${key.replaceAll("_", " ")}</a>`,
  );
  const cards = budgets.map((budget) => budgetCard(budget, nowMs, blocks));
  const thisMonth = dateTime(nowMs).slice(0, "2026-11".length);
  const reportLink = hasReports
    ? html`<p class="of">
        Report of the <a href="../report?upstream=${name}">last month</a>,
        <a href="../report?upstream=${name}&amp;month=${thisMonth}">this month</a>, as evidence for the
        provider
      </p>`
    : "";
  const body = html`<p class="way"><a href="../">All upstreams</a></p>
    <section class="upstream ${upstream.health.state}">
      <header>
        ${icon(upstream.health.state)}
        <h1>${name}</h1>
        ${stateLine(upstream, status)}
      </header>
      ${reasonLine(upstream, status)} ${missedLine(upstream)}
      ${blocks.map((block) => block.upstream?.(upstream, nowMs))}
      <p class="of"><code>${upstream.method} ${upstream.url}</code>${labels}${links}</p>
      <div class="plots">${rangeLinks(name, view)} ${latencyLegend(drawn)}</div>
      ${plot(drawn, axis, { latencyHeight: LATENCY_HEIGHT, stripHeight: STRIP_HEIGHT, isTold: true, incidentsAt: "" })}
      ${times(axis, true)} ${plotLegend()} ${inNumbers(upstream, status, true)}
      <p class="of">${slotsLine(upstream)}</p>
    </section>
    ${blocks.map((block) => block.section?.(upstream, details, nowMs))}
    ${section("The last 90 days", calendar({ upstream, seen: days, incidents, nowMs, hasReports }), reportLink)}
    ${section("Last failures", failureList(upstream.lastFailures, incidents, nowMs))}
    ${section("Incidents", incidents.length === 0 ? NONE_ON_RECORD : incidentList(incidents, nowMs))}
    ${
      budgets.length === 0 ? "" : section(budgets.length === 1 ? "Budget" : "Budgets", list("budgets", cards))
    }
    ${section("Last polls", pollTable(upstream.lastPolls, nowMs))}`;
  const title = `${name} ${STATE_WORDS[upstream.health.state].sentence}`;
  yield pageShell({ title, root: "../", self: name, view, body }, status);
}

/** slots = polls + in flight + skipped. */
function slotsLine({ counts, skips }: UpstreamFacts): string {
  const causes = skips.map(({ cause, count }) => `${count} ${SKIPS[cause].words}`).join(", ");
  return `Since the start ${counted(counts.slots, "slot")}: ${counted(counts.polls, "poll")}, ${counts.inFlight} in flight, ${counts.skipped} skipped${causes === "" ? "" : ` (${causes})`}.${counts.waiting === 0 ? "" : ` ${counts.waiting} waiting for a lease.`}`;
}

const POLL_COLUMNS: readonly Column[] = [
  { title: "Sent" },
  { title: "Outcome" },
  { title: "Status", isNumber: true },
  { title: "Latency", isNumber: true },
  { title: "Trigger" },
];

const TRIGGERS: Readonly<Record<PollStatus["origin"], string>> = {
  schedule: "schedule",
  confirm: "confirmation",
  again: "still down?",
  first: "first look",
};

/** The strip in words, the newest first. */
function pollTable(polls: readonly PollStatus[], nowMs: number): Markup {
  if (polls.length === 0) return html`<p class="none">None yet.</p>`;
  const rows = polls.toReversed().map((poll) => pollRow(poll, nowMs));
  return scrollTable("Last polls", "polls", POLL_COLUMNS, rows);
}

function pollRow(poll: PollStatus, nowMs: number): Markup {
  const kind = kindOf(poll);
  return html`<tr id="${poll.id}" class="${kind}">
    <td>${moment(poll.atMs, nowMs)}</td>
    <td><b>${KINDS[kind].words}</b>${poll.reason === "" ? "" : `: ${reasonWords(poll.reason)}`}</td>
    <td class="number">${poll.status ?? "–"}</td>
    <td class="number">${humanLatency(poll.durationMs)}</td>
    <td>${TRIGGERS[poll.origin]}</td>
  </tr>`;
}

const LONGEST_NAME = 64;

/** For a name that is not in the config, or anywhere but at the leader. */
export function* renderMissingUpstreamPage(name: string, status: Status, view: View): Pieces {
  const { fleet } = status;
  const shown = untrusted(capText(name, LONGEST_NAME));
  const isStandby = fleet?.isLeading === false;
  const title = isStandby ? standbyTitle(fleet, status.nowMs) : "No upstream has this name";
  const why = isStandby
    ? html`Only the leader knows how &ldquo;${shown}&rdquo; is.`
    : html`&ldquo;${shown}&rdquo; is not in the running config.`;
  const body = html`<h1>${title}</h1>
    <p class="none">${why} <a href="../">${isStandby ? "This process" : "All upstreams"}</a></p>`;
  yield pageShell({ title: isStandby ? title : "Not found", root: "../", self: "../", view, body }, status);
}
