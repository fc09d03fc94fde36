import { html } from "hono/html";
import { spokenLatency } from "../core/spoken.ts";
import type { PollStatus } from "../core/status.ts";
import { KIND_WORDS, kindOf } from "./plot-strip.ts";
import { moment, type Markup } from "./status-page-markup.ts";
import { reasonWords } from "./wording.ts";

const ORIGIN_WORDS: Readonly<Record<PollStatus["origin"], string>> = {
  schedule: "the schedule",
  confirm: "to confirm a failure",
  first: "the first look",
};

/** The strip in words. The newest first. */
export function pollTable(polls: readonly PollStatus[], nowMs: number): Markup {
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
