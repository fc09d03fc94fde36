import { html } from "hono/html";
import { budgetOf } from "../../core/status/verdict.ts";
import { capText } from "../../core/text/escape.ts";
import type { FleetStatus, FleetUpstream } from "../../core/fleet/fleet-status.ts";
import type { SkipCause } from "../../core/exchange/outcome.ts";
import { incidentsOf } from "../../core/status/json-answers.ts";
import type { PollStatus, StatusSnapshot, UpstreamStatus } from "../../core/status/status.ts";
import { pageShell, type View } from "./shell.ts";
import { untrusted, type Markup, moment, sign } from "./markup.ts";
import { KIND_WORDS, kindOf, stripLegend } from "./plot-strip.ts";
import { budgetCard } from "./budget-card.ts";
import { incidentTable } from "./incident-table.ts";
import { reasonLine, seen, stateLine } from "./upstream-card.ts";
import { failureList } from "./failure-list.ts";
import { HEALTH_WORDS, reasonWords } from "./wording.ts";
import { spokenLatency } from "../../core/status/spoken.ts";

const PLOT_HEIGHT = 180;
const LONGEST_NAME = 64;

export function renderUpstreamPage(upstream: UpstreamStatus, snapshot: StatusSnapshot, view: View): Markup {
  const { name } = upstream;
  const budget = budgetOf(upstream, snapshot);
  const incidents = incidentsOf(snapshot, name);
  const { nowMs } = snapshot;
  const body = html`<p class="way"><a href="../">All upstreams</a></p>
    <section class="upstream ${upstream.health.state}">
      <header>
        ${sign(upstream.health.state)}
        <h1>${name}</h1>
        ${stateLine(upstream, snapshot)}
      </header>
      ${reasonLine(upstream, snapshot)}
      <p class="of"><code>${upstream.url}</code>${labelsOf(upstream)}</p>
      ${stripLegend()} ${seen(upstream, nowMs, PLOT_HEIGHT)}
      <p class="of">${slotsLine(upstream)}</p>
    </section>
    <section>
      <h2>Last failures</h2>
      ${failureList(upstream.lastFailures, nowMs)}
    </section>
    <section>
      <h2>Incidents</h2>
      ${incidents.length === 0 ? html`<p class="none">None on record.</p>` : incidentTable(incidents, nowMs)}
    </section>
    ${
      budget === undefined
        ? ""
        : html`<section>
            <h2>Budget</h2>
            <ul class="budgets">
              ${budgetCard(budget, nowMs)}
            </ul>
          </section>`
    }
    <section>
      <h2>Last polls</h2>
      ${pollTable(upstream.lastPolls, nowMs)}
    </section>`;
  const title = `${name} ${HEALTH_WORDS[upstream.health.state]}`;
  return pageShell({ title, root: "../", self: name, view, body }, snapshot);
}

/** One that is not polled here; perhaps another replica does. */
export function renderMissingUpstreamPage(
  name: string,
  snapshot: StatusSnapshot,
  view: View,
  fleet?: FleetStatus,
): Markup {
  const elsewhere = fleet?.upstreams.find((upstream) => upstream.name === name);
  if (fleet !== undefined && elsewhere !== undefined) return elsewherePage(elsewhere, fleet, snapshot, view);
  const body = html`<h1>No upstream has this name</h1>
    <p class="none">
      “${untrusted(capText(name, LONGEST_NAME))}” is not in the running config.
      <a href="../">All upstreams</a>
    </p>`;
  return pageShell({ title: "Not found", root: "../", self: "../", view, body }, snapshot);
}

function elsewherePage(
  { name, holder }: FleetUpstream,
  { replicas }: FleetStatus,
  snapshot: StatusSnapshot,
  view: View,
): Markup {
  const title = holder === undefined ? `${name} is polled by nobody now` : `${name} is polled by ${holder}`;
  const url = (replicas.find((replica) => replica.name === holder)?.url ?? "").replace(/\/$/, "");
  const there = html`<a href="${url}/upstreams/${encodeURIComponent(name)}">Its page there</a>. `;
  const body = html`<h1>${title}</h1>
    <p class="none">${url === "" ? "" : there}<a href="../">The whole fleet</a></p>`;
  return pageShell({ title, root: "../", self: encodeURIComponent(name), view, body }, snapshot);
}

function labelsOf({ labels }: UpstreamStatus): readonly Markup[] {
  return Object.entries(labels).map(([key, value]) => html` · ${key} <b>${value}</b>`);
}

const SKIP_WORDS: Readonly<Record<SkipCause, string>> = {
  budget: "no lease in time",
  backoff: "they asked for silence",
  yield: "left to production",
  quota: "quota spent",
  overlap: "the last poll still ran",
  missed: "late or asleep",
  ledger: "ledger out of reach",
  shutdown: "shutting down",
};

/** The accounts close: slots = polls + in flight + skipped. */
function slotsLine({ counts, skips }: UpstreamStatus): string {
  const causes = skips.map(({ cause, count }) => `${count} ${SKIP_WORDS[cause]}`).join(", ");
  return `Since the start ${counts.slots} slots: ${counts.polls} polls, ${counts.inFlight} in flight, ${counts.skipped} skipped${causes === "" ? "" : ` (${causes})`}. ${counts.waiting} waiting.`;
}

const ORIGIN_WORDS: Readonly<Record<PollStatus["origin"], string>> = {
  schedule: "the schedule",
  confirm: "to confirm a failure",
  first: "the first look",
};

/** The strip in words. The newest first. */
function pollTable(polls: readonly PollStatus[], nowMs: number): Markup {
  if (polls.length === 0) return html`<p class="none">None yet.</p>`;
  return html`<div class="wide" role="region" aria-label="Last polls" tabindex="0">
    <table class="polls">
      <thead>
        <tr>
          <th scope="col">Sent</th>
          <th scope="col">Outcome</th>
          <th scope="col" class="number">Status</th>
          <th scope="col" class="number">Latency</th>
          <th scope="col">Asked for by</th>
        </tr>
      </thead>
      <tbody>
        ${polls.toReversed().map((poll) => row(poll, nowMs))}
      </tbody>
    </table>
  </div>`;
}

function row(poll: PollStatus, nowMs: number): Markup {
  return html`<tr class="${kindOf(poll)}">
    <td>${moment(poll.atMs, nowMs)}</td>
    <td><b>${KIND_WORDS[kindOf(poll)]}</b>${poll.reason === "" ? "" : `: ${reasonWords(poll.reason)}`}</td>
    <td class="number">${poll.status ?? "–"}</td>
    <td class="number">${spokenLatency(poll.durationMs)}</td>
    <td>${ORIGIN_WORDS[poll.origin]}</td>
  </tr>`;
}
