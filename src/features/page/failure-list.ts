import { html } from "hono/html";
import type { KeptHeader } from "../../kernel/exchange/exchange.ts";
import { reasonWords } from "../../kernel/exchange/reasons.ts";
import { FAILURES_KEPT, type PollStatus } from "../history/kept-poll.ts";
import { phaseBar } from "./plot-phases.ts";
import { ago, list, untrusted, moment, type Markup } from "../../http/markup/markup.ts";
import { incidentId } from "./plot.ts";
import { amount } from "../../http/markup/wording.ts";
import type { Incident } from "../history/incidents.ts";

export const NONE_ON_RECORD: Markup = html`<p class="none">None on record.</p>`;

/** The newest first. Equal failures in a row are shown once. */
export function failureList(
  failures: readonly PollStatus[],
  incidents: readonly Incident[],
  nowMs: number,
): Markup {
  if (failures.length === 0) return NONE_ON_RECORD;
  return html`<p class="of">
      Failures are kept longer than successes. Of headers only names, sizes and request ids are kept, of a
      body only the beginning; keys are removed.
    </p>
    <ol class="failures">
      ${groupEqual(failures.toReversed()).map((group) => failureItem(group, failures, incidents, nowMs))}
    </ol>`;
}

type Group = { readonly newest: PollStatus; readonly older: readonly PollStatus[] };

function groupEqual(newestFirst: readonly PollStatus[]): readonly Group[] {
  const starts = newestFirst.flatMap((poll, index) => {
    const before = newestFirst[index - 1];
    return before !== undefined && fingerprint(before) === fingerprint(poll) ? [] : [{ newest: poll, index }];
  });
  return starts.map(({ newest, index }, group) => ({
    newest,
    older: newestFirst.slice(index + 1, starts[group + 1]?.index),
  }));
}

function fingerprint({ reason, status, detail, excerpt, headers = [] }: PollStatus): string {
  return JSON.stringify([reason, status, detail, excerpt, headers.map(({ name }) => name)]);
}

function failureItem(
  { newest: failure, older }: Group,
  all: readonly PollStatus[],
  incidents: readonly Incident[],
  nowMs: number,
): Markup {
  const { status, reason, detail, excerpt, headers = [] } = failure;
  return html`<li>
    <h3>${reasonWords(reason)}${status === undefined ? "" : `, ${status}`}</h3>
    <p class="of">
      ${moment(failure.atMs, nowMs)}, ${ago(failure.atMs, nowMs)}${olderLine(older, all, incidents, nowMs)}
    </p>
    <dl class="facts">
      <dt>Detail</dt>
      <dd>${detail === "" ? "none" : untrusted(detail)}</dd>
      <dt>Phases</dt>
      <dd>${phaseBar(failure.phasesMs)}</dd>
      <dt>Headers</dt>
      <dd>${headerList(status, headers)}</dd>
      <dt>Body</dt>
      <dd>
        ${excerpt === undefined ? "not kept" : html`<p class="excerpt"><code>${untrusted(excerpt)}</code></p>`}
      </dd>
    </dl>
  </li>`;
}

function olderLine(
  older: readonly PollStatus[],
  all: readonly PollStatus[],
  incidents: readonly Incident[],
  nowMs: number,
): Markup | string {
  const oldest = older.at(-1);
  if (oldest === undefined) return "";
  // There may have been more before the oldest of those that are kept.
  if (oldest === all[0] && all.length >= FAILURES_KEPT) {
    const incident = incidents.find(
      ({ startedAtMs, endedAtMs = nowMs }) =>
        startedAtMs <= oldest.atMs + oldest.durationMs && endedAtMs >= oldest.atMs,
    );
    const before = older.length === 1 ? "one before it is" : `${older.length} before it are`;
    return incident === undefined
      ? html`; the ${before} like it, and older ones are not kept`
      : html`; the ${before} like it; the <a href="#${incidentId(incident)}">incident</a> began at
          ${moment(incident.startedAtMs, nowMs)} and has ${amount(incident.polls)}
          ${incident.polls === 1 ? "poll" : "polls"}`;
  }
  return html`; ${older.length} more like it before, the first at ${moment(oldest.atMs, nowMs)}`;
}

function headerList(status: number | undefined, headers: readonly KeptHeader[]): Markup {
  if (headers.length === 0) return status === undefined ? html`no answer` : html`none`;
  const items = headers.map(
    ({ name, bytes, value }) =>
      html`<li>
        <code>${untrusted(name)}</code>
        ${value === undefined ? `${bytes} B` : html`<code>${untrusted(value)}</code>`}
      </li>`,
  );
  return list("headers", items);
}
