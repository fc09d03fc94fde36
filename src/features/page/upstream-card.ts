import { html } from "hono/html";
import {
  type AvailabilityWindow,
  failedWords,
  LEFT_OUT,
  verdictOnAvailability,
  watchedWords,
  WITHIN_LATENCY_SHARE,
} from "../history/availability.ts";
import { ENDS_SOON_MS } from "../history/credit.ts";
import { humanDuration, humanLatency } from "../../platform/humanize.ts";
import type { Status, UpstreamFacts } from "../status/status.ts";
import { reasonWords } from "../../kernel/exchange/reasons.ts";
import { budgetsOf, diagnosisOf } from "../status/verdict.ts";
import { SIDE_WORDS, STATE_WORDS } from "../history/words.ts";
import { ago, ahead, icon, type Markup, moment, untrusted } from "../../http/markup/markup.ts";
import { type Drawn, plot, type TimeAxis, times } from "./plot.ts";
import { KINDS, kindOf } from "./plot-kinds.ts";
import { phaseBar } from "./plot-phases.ts";
import { percent } from "../../http/markup/wording.ts";
import { DAY_MS } from "../../kernel/time/duration.ts";
import type { PollStatus } from "../history/kept-poll.ts";

const LATENCY_HEIGHT = 64;
const SICK_LATENCY_HEIGHT = 220;
const STRIP_HEIGHT = 22;

export function upstreamCard(upstream: UpstreamFacts, drawn: Drawn, axis: TimeAxis, status: Status): Markup {
  const { name, health } = upstream;
  const isLarge = health.state !== "up" && drawn.seen.columns.length > 0;
  const latencyHeight = isLarge ? SICK_LATENCY_HEIGHT : LATENCY_HEIGHT;
  return html`<li class="upstream ${health.state}">
    <header>
      ${icon(health.state)}
      <h3><a href="upstreams/${name}">${name}</a></h3>
      ${stateLine(upstream, status)}
    </header>
    ${reasonLine(upstream, status)} ${missedLine(upstream)} ${endingSoon(upstream, status)}
    <div class="seen">
      <div>
        ${plot(drawn, axis, { latencyHeight, stripHeight: STRIP_HEIGHT, incidentsAt: `upstreams/${name}` })}
        ${times(axis, true)}
      </div>
      ${inNumbers(upstream, status)}
    </div>
  </li>`;
}

/** `Down for 14 min, since 12:03:10 UTC`. If the incident began in another state, also since when. */
export function stateLine({ name, health }: UpstreamFacts, status: Status): Markup {
  const { nowMs } = status;
  const incident = status.incidentsOf(name).find(({ endedAtMs }) => endedAtMs === undefined);
  const beganEarlier = incident !== undefined && incident.startedAtMs < health.sinceMs;
  return html`<p class="state">
    <strong>${STATE_WORDS[health.state].title}</strong> for
    ${humanDuration(Math.max(0, nowMs - health.sinceMs))}
    <span class="of"
      >since
      ${moment(health.sinceMs, nowMs)}${beganEarlier ? html`; incident since ${moment(incident.startedAtMs, nowMs)}` : ""}</span
    >
  </p>`;
}

export function reasonLine(upstream: UpstreamFacts, status: Status): Markup {
  const { side, reason, because } = diagnosisOf(upstream, status);
  return html`<p class="reason">
    ${side === "nobody" ? "" : html`<strong>${SIDE_WORDS[side]}</strong> `}${reason}${because === "" ? "" : ` ${because}`}
  </p>`;
}

/** Of one that is not up, its state says more. */
export function missedLine({ health, missedLastHour, objective }: UpstreamFacts): Markup | string {
  if (health.state !== "up" || missedLastHour.length === 0) return "";
  const words = {
    availability: `it was ok for less than ${percent(objective.availability, objective.availability)} of the watched time`,
    latency: `fewer than ${percent(WITHIN_LATENCY_SHARE)} of its ok answers came within ${humanLatency(objective.latencyMs)}`,
  };
  return html`<p class="reason">
    <strong>Missed its objective in the last hour:</strong>
    ${missedLastHour.map((missed) => words[missed]).join(", and ")}.
  </p>`;
}

function endingSoon(upstream: UpstreamFacts, status: Status): Markup | "" {
  const ending = status
    .endingsIn(upstream)
    .filter(({ atMs = Infinity }) => atMs < status.nowMs + ENDS_SOON_MS);
  if (ending.length === 0) return "";
  return html`<p class="reason">
    ${ending.map(({ name, sentence }) => html`<strong>${name}:</strong> ${sentence} `)}
  </p>`;
}

/** What the plots draw, in numbers. */
export function inNumbers(upstream: UpstreamFacts, status: Status, isExplained = false): Markup {
  return html`<div class="told">${availabilityTable(upstream, isExplained)} ${facts(upstream, status)}</div>`;
}

function availabilityTable(upstream: UpstreamFacts, isExplained: boolean): Markup {
  const { name, availability, objective } = upstream;
  return html`<table class="availability">
    <caption>
      Availability
      <span class="of">objective ${percent(objective.availability, objective.availability)}</span>
      ${isExplained ? html`<span class="of explained">${LEFT_OUT}</span>` : ""}
    </caption>
    <thead class="unseen">
      <tr>
        <th scope="col">Window</th>
        <th scope="col">Availability of ${name}</th>
        <th scope="col">Against the objective</th>
      </tr>
    </thead>
    <tbody>
      ${availability.map((window) => availabilityRow(window, objective.availability))}
    </tbody>
  </table>`;
}

function availabilityRow(window: AvailabilityWindow, objective: number): Markup {
  const { windowMs, ratio } = window;
  const verdict = verdictOnAvailability(window, objective);
  const isJudged = verdict === "met" || verdict === "missed";
  const words = ratio === undefined ? "" : watchedWords(window);
  const beforeCounts = isJudged || words !== "" ? ": " : "";
  return html`<tr class="${verdict}">
    <th scope="row">${windowMs === DAY_MS ? "24 h" : humanDuration(windowMs)}</th>
    <td class="ratio">${ratio === undefined ? "–" : percent(ratio, objective)}</td>
    <td class="of">
      ${words}${words !== "" && isJudged ? ", " : ""}${isJudged ? html`<b>${verdict}</b>` : ""}${beforeCounts}${failedWords(window)}
    </td>
  </tr>`;
}

function facts(upstream: UpstreamFacts, status: Status): Markup {
  const { schedule, counts, nextSlotAtMs, lastPoll } = upstream;
  const { nowMs } = status;
  const pauses = budgetsOf(upstream, status).map((budget) => budget.pausedUntilMs);
  const pausedUntilMs = Math.max(upstream.pausedUntilMs, ...pauses);
  const isSkipped = nextSlotAtMs !== undefined && nextSlotAtMs < pausedUntilMs;
  return html`<dl class="facts">
    <dt>Last poll</dt>
    <dd>${lastPoll === undefined ? html`none yet` : pollLine(lastPoll, nowMs)}</dd>
    <dt>Latency</dt>
    <dd>${latencyLine(upstream)}</dd>
    <dt>Next slot</dt>
    <dd>
      ${nextSlotAtMs === undefined ? html`not scheduled` : ahead(nextSlotAtMs, nowMs)}
      <span class="of"
        >${schedule.source}${counts.inFlight > 0 ? "; a poll has no outcome yet" : ""}${isSkipped ? "; it is skipped if polls are still paused then" : ""}</span
      >
    </dd>
    <dt>Certificate</dt>
    <dd>${certificate(upstream, nowMs)}</dd>
  </dl>`;
}

function latencyLine({ latency, lastPoll }: UpstreamFacts): Markup {
  if (latency === undefined)
    return lastPoll === undefined ? html`none yet` : html`none of the last polls was ok`;
  const { p50Ms, p95Ms, polls } = latency;
  return html`p50 <b>${humanLatency(p50Ms)}</b>, p95 <b>${humanLatency(p95Ms)}</b>
    <span class="of">of ${polls === 1 ? "1 ok poll" : `the last ${polls} ok polls`}</span>`;
}

/** `failed: server error, 503, after 1.24 s, 4 s ago`, the detail, and the phases. */
function pollLine(poll: PollStatus, nowMs: number): Markup {
  const { status, reason, detail } = poll;
  return html`${KINDS[kindOf(poll)].words}${reason === "" ? "" : `: ${reasonWords(reason)}`}${status === undefined ? "" : `, ${status}`},
    after
    <b>${humanLatency(poll.durationMs)}</b>
    <span class="of">${ago(poll.atMs, nowMs)}</span>
    ${poll.outcome === "ok" || detail === "" ? "" : html`<p class="detail">${untrusted(detail)}</p>`}
    ${phaseBar(poll.phasesMs)}`;
}

const EXPIRES_SOON_MS = 14 * DAY_MS;

function certificate({ url, certificateExpiresAtMs: expiresAtMs }: UpstreamFacts, nowMs: number): Markup {
  if (url.startsWith("http:")) return html`none: plain HTTP`;
  if (expiresAtMs === undefined) return html`not seen yet`;
  if (expiresAtMs <= nowMs) return html`<b class="alarm">expired</b> ${ago(expiresAtMs, nowMs)}`;
  const isSoon = expiresAtMs - nowMs < EXPIRES_SOON_MS;
  return html`expires ${ahead(expiresAtMs, nowMs)}${isSoon ? html`, <b class="alarm">soon</b>` : ""}
    <span class="of">${moment(expiresAtMs, nowMs)}</span>`;
}
