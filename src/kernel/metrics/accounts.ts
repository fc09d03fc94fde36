import { type Phase, PHASES, type PhaseTimesMs } from "../exchange/exchange.ts";
import type { ExpectedStatus, Upstream } from "../config/config.ts";
import type { SkipCause } from "../exchange/outcome.ts";
import type { Outcome, Reason } from "../exchange/reasons.ts";
import type { Poll } from "../poll/poll.ts";
import type { PollEvent, Recorder } from "../poll/ports.ts";
import { ownCopy } from "../text/own-copy.ts";
import { MINUTE_MS } from "../time/duration.ts";
import { type Count, type Counter, type Counts, Tally } from "./counts.ts";
import { type Exemplar, Histogram } from "./histogram.ts";

/** The final status codes of IANA's HTTP registry (2xx to 5xx), so that no upstream can add series without end. */
const REGISTERED = [
  [200, 201, 202, 203, 204, 205, 206, 207, 208, 226],
  [300, 301, 302, 303, 304, 305, 307, 308],
  [400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417],
  [421, 422, 423, 424, 425, 426, 428, 429, 431, 451],
  [500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511],
].flat();

/** Every value of the label `code`. */
export const CODE_LABELS: readonly string[] = [...REGISTERED.map(String), "other"];

function codeLabel(status: number): string {
  return REGISTERED.includes(status) ? String(status) : "other";
}

/** Only polls that were ok count. */
export const DURATION_BOUNDS: readonly number[] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

type Sum = { count: number; sum: number };
type Delay = { readonly endedAtMs: number; readonly seconds: number };

/** The numbers of one upstream since `startedAtMs`. They change together, so at every moment they add up. */
export class UpstreamAccounts implements Recorder {
  readonly #upstream: string;
  readonly startedAtMs: number;
  slots = 0;
  waiting = 0;
  inFlight = 0;
  withinObjective = 0;
  readonly watchedMs = { ok: 0, failed: 0 };
  lastPollAtMs: number | undefined;
  lastSuccessAtMs: number | undefined;
  #certificateExpiresAtMs: number | undefined;
  readonly reasons: Tally<Reason> = new Tally();
  readonly skips: Tally<SkipCause> = new Tally();
  readonly responses: Tally<string> = new Tally();
  /** Those of features, by name. */
  readonly counts: Record<string, Counts> = {};
  /** Those of ok are there from the start. */
  readonly durations: Partial<Record<Outcome, Histogram>>;
  /** A plain connection has no `tls`. */
  readonly phases: Partial<Record<Phase, Sum>> = {};
  readonly delay: Sum = { count: 0, sum: 0 };
  /** Of the last minute: those than which no later one is as long. */
  #longestDelays: readonly Delay[] = [];

  constructor(upstream: string, startedAtMs: number) {
    this.#upstream = upstream;
    this.startedAtMs = startedAtMs;
    this.durations = { ok: new Histogram(DURATION_BOUNDS, startedAtMs) };
  }

  record(event: PollEvent): void {
    switch (event.kind) {
      case "slot_waiting":
        this.waiting += 1;
        return;
      case "slot_started":
        this.waiting -= 1;
        this.slots += 1;
        this.inFlight += 1;
        return;
      case "slots_skipped":
        if (event.had === "waited") this.waiting -= 1;
        if (event.had === "started") this.inFlight -= 1;
        else this.slots += event.count;
        this.skips.add(event.cause, event.count, this.lastPollAtMs ?? this.startedAtMs);
        return;
      case "polled":
        this.lastPollAtMs = event.poll.endedAtMs;
        return;
      case "judged":
        this.#judged(event.poll, event.watchedMs);
        return;
      case "pause_requested":
      case "refused":
      case "health_changed":
      case "unwatched":
        // Facts of now, not counts: a scrape reads them where they are kept.
        return;
      default:
        event satisfies never;
    }
  }

  /** A reload may ask for more. What is counted goes on. */
  count(upstream: Upstream, counters: readonly Counter[]): void {
    for (const { name, open } of counters) {
      const counts = this.counts[name] ?? open(upstream, this.startedAtMs);
      if (counts !== undefined) this.counts[name] = counts;
    }
  }

  get totalPolls(): number {
    return this.delay.count;
  }

  /** By status code. Those that are expected are there before they were seen. */
  responsesWith(expected: readonly ExpectedStatus[]): readonly Count<string>[] {
    const codes = new Set(expected.filter((status) => typeof status === "number").map(codeLabel));
    return this.responses.with([...codes], this.startedAtMs);
  }

  /** Undefined for plain HTTP: a reload may have led there, and what was seen before would expire for ever. */
  certificateExpiresAtMs(url: string): number | undefined {
    return url.startsWith("http:") ? undefined : this.#certificateExpiresAtMs;
  }

  /** Of the last minute, or of the last poll if none ended since. */
  longestDelaySeconds(nowMs: number): number | undefined {
    const recent = this.#longestDelays.find(({ endedAtMs }) => endedAtMs > nowMs - MINUTE_MS);
    return (recent ?? this.#longestDelays.at(-1))?.seconds;
  }

  #judged(poll: Poll, watchedMs: number): void {
    const { outcome, endedAtMs, sentAtMs, head } = poll;
    if (outcome.kind === "ok" || outcome.kind === "failed") this.watchedMs[outcome.kind] += watchedMs;
    this.inFlight -= 1;
    const duration = (this.durations[outcome.kind] ??= new Histogram([], sentAtMs));
    const seconds = elapsedSeconds(poll.durationMs);
    duration.observe(seconds, exemplarOf(this.#upstream, poll, seconds));
    if (outcome.kind !== "ok") this.reasons.add(outcome.reason, 1, sentAtMs);
    if (head !== undefined) this.responses.add(codeLabel(head.status), 1, sentAtMs);
    this.#addDelay({ endedAtMs, seconds: elapsedSeconds(poll.delayMs) });
    this.#addPhases(poll.phasesMs);
    if (poll.withinObjective) this.withinObjective += 1;
    if (outcome.kind === "ok") this.lastSuccessAtMs = endedAtMs;
    // A reused connection shows no certificate: the last one still holds.
    this.#certificateExpiresAtMs = poll.certificateExpiresAtMs ?? this.#certificateExpiresAtMs;
    for (const name in this.counts) this.counts[name]?.judged(poll);
  }

  /** In the place of all that are no longer than it, or seem to end later, as the clock was set back. */
  #addDelay(delay: Delay): void {
    addTo(this.delay, delay.seconds);
    const longer = this.#longestDelays.filter(
      ({ endedAtMs, seconds }) =>
        seconds > delay.seconds && endedAtMs <= delay.endedAtMs && endedAtMs > delay.endedAtMs - MINUTE_MS,
    );
    this.#longestDelays = longer.concat(delay);
  }

  #addPhases(phasesMs: PhaseTimesMs): void {
    for (const phase of PHASES) {
      const durationMs = phasesMs[phase];
      if (durationMs === undefined) continue;
      addTo((this.phases[phase] ??= { count: 0, sum: 0 }), elapsedSeconds(durationMs));
    }
  }
}

function addTo(all: Sum, seconds: number): void {
  all.count += 1;
  all.sum += seconds;
}

/** A clock step can make a delay negative, and a sum that shrinks would look like a counter reset. */
export function elapsedSeconds(durationMs: number): number {
  return durationMs > 0 && Number.isFinite(durationMs) ? durationMs / 1000 : 0;
}

/** More characters than these, names included, no format allows. */
const LONGEST_EXEMPLAR = 128;

/**
 * Of the newest poll of an outcome: where its page has it, as a link of Grafana's has one label alone, and the provider's
 * request id where it is known, unless it is too long.
 */
function exemplarOf(upstream: string, { id, endedAtMs, head }: Poll, seconds: number): Exemplar {
  const requestId = head?.headers.find(({ value }) => value !== undefined)?.value ?? "";
  const known = { poll_id: id, poll_page: `${upstream}#${id}` };
  const exemplar = { value: seconds, atMs: endedAtMs };
  // As of most polls: then nothing more is made of it.
  if (requestId === "") return { ...exemplar, labels: known };
  const labels = { ...known, request_id: requestId };
  const length = Object.entries(labels).flat().join("").length;
  return { ...exemplar, labels: length <= LONGEST_EXEMPLAR ? ownCopy(labels) : known };
}
