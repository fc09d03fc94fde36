import { html } from "hono/html";
import { spokenLatency } from "../core/spoken.ts";
import type { PollStatus, UpstreamStatus } from "../core/status.ts";
import { phaseBar } from "./plot-phases.ts";
import { KIND_WORDS, kindOf } from "./plot-strip.ts";
import { ago, ahead, foreign, moment, type Markup } from "./status-page-markup.ts";

const DAY_MS = 86_400_000;
const EXPIRES_SOON_MS = 14 * DAY_MS;

/** The last poll and where its time went, the next slot, the certificate. */
export function facts(upstream: UpstreamStatus, nowMs: number): Markup {
  const lastPoll = upstream.lastPolls.at(-1);
  return html`<dl class="facts">
    <dt>Last poll</dt>
    <dd>${lastPoll === undefined ? html`none yet` : pollLine(lastPoll, nowMs)}</dd>
    <dt>Next slot</dt>
    <dd>
      ${nextSlot(upstream, nowMs)}
      <span class="of"
        >${upstream.schedule.source}${upstream.counts.inFlight > 0 ? "; a poll is on its way now" : ""}</span
      >
    </dd>
    <dt>Certificate</dt>
    <dd>${certificate(upstream, nowMs)}</dd>
  </dl>`;
}

/** `failed, 503, after 1.24 s, 4 s ago`, what was seen, and the phases. */
function pollLine(poll: PollStatus, nowMs: number): Markup {
  const { status, detail } = poll;
  return html`${KIND_WORDS[kindOf(poll)]}${status === undefined ? "" : `, ${status}`}, after
    <b>${spokenLatency(poll.durationMs)}</b>
    <span class="of">${ago(poll.atMs, nowMs)}</span>
    ${poll.outcome === "ok" || detail === "" ? "" : html`<p class="detail">${foreign(detail)}</p>`}
    ${phaseBar(poll.phasesMs)}`;
}

function nextSlot({ nextSlotAtMs }: UpstreamStatus, nowMs: number): Markup {
  return nextSlotAtMs === undefined ? html`not planned` : ahead(nextSlotAtMs, nowMs);
}

function certificate({ url, certificateExpiresAtMs: expiresAtMs }: UpstreamStatus, nowMs: number): Markup {
  if (url.startsWith("http:")) return html`none: plain HTTP`;
  if (expiresAtMs === undefined) return html`not seen yet`;
  if (expiresAtMs <= nowMs) return html`<b class="alarm">expired</b> ${ago(expiresAtMs, nowMs)}`;
  const isSoon = expiresAtMs - nowMs < EXPIRES_SOON_MS;
  return html`expires ${ahead(expiresAtMs, nowMs)}${isSoon ? html`, <b class="alarm">soon</b>` : ""}
    <span class="of">${moment(expiresAtMs, nowMs)}</span>`;
}
