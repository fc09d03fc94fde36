import type { Announcement } from "../answer/announcement.ts";
import { CATALOGUE, CODE_LABELS, codeLabel, type RedisFailure } from "./catalogue.ts";
import { type Phase, PHASES } from "../exchange/exchange.ts";
import { Histogram, histogramLength, type HistogramReading, known, observeIn, UNKNOWN } from "./histogram.ts";
import { SKIP_CAUSES, type SkipCause } from "../exchange/outcome.ts";
import { type Outcome, OUTCOMES, type Reason, REASON_NAMES } from "../exchange/reasons.ts";
import type { Poll } from "../poll/poll.ts";
import type { PollEvent, Recorder } from "../poll/ports.ts";

type PhaseTotal = { readonly count: number; readonly sumSeconds: number };

const DURATION_BOUNDS = CATALOGUE.pacewatch_poll_duration_seconds.buckets;
const DELAY_BOUNDS = CATALOGUE.pacewatch_poll_delay_seconds.buckets;

/** Assigns every number of an upstream its place in one array. */
class Layout {
  #length = 0;

  /** The next places, one for each key. */
  places(keys: readonly string[]): ReadonlyMap<string, number> {
    const from = this.take(keys.length);
    return new Map(keys.map((key, index) => [key, from + index]));
  }

  take(length: number): number {
    const from = this.#length;
    this.#length += length;
    return from;
  }

  get length(): number {
    return this.#length;
  }
}

const layout = new Layout();
const SLOTS = layout.take(1);
const WAITING = layout.take(1);
const IN_FLIGHT = layout.take(1);
const WITHIN_OBJECTIVE = layout.take(1);
const MALFORMED_SIGNALS = layout.take(1);
/** Not a number until it is known. */
const LAST_POLL_AT_MS = layout.take(1);
const LAST_SUCCESS_AT_MS = layout.take(1);
const CERTIFICATE_EXPIRES_AT_MS = layout.take(1);
const DEPRECATED_AT_MS = layout.take(1);
const SUNSET_AT_MS = layout.take(1);
const POLLS = layout.places(OUTCOMES);
const BY_REASON = layout.places(REASON_NAMES);
const SKIPPED = layout.places(SKIP_CAUSES);
const RESPONSES = layout.places(CODE_LABELS);
const PHASE_COUNT = layout.places(PHASES);
const PHASE_SECONDS = layout.places(PHASES);
/** The places of the phases are in the order of the phases. */
const PHASE_COUNT_FROM = PHASE_COUNT.get(PHASES[0]) ?? 0;
const PHASE_SECONDS_FROM = PHASE_SECONDS.get(PHASES[0]) ?? 0;
const DELAY = layout.take(histogramLength(DELAY_BOUNDS));
const DURATION = {
  ok: layout.take(histogramLength(DURATION_BOUNDS)),
  failed: layout.take(histogramLength(DURATION_BOUNDS)),
  throttled: layout.take(histogramLength(DURATION_BOUNDS)),
  rejected: layout.take(histogramLength(DURATION_BOUNDS)),
  ours: layout.take(histogramLength(DURATION_BOUNDS)),
};

/** How many numbers make up the accounts of an upstream. */
export const ACCOUNTS_LENGTH: number = layout.length;

/**
 * The numbers of one upstream since the process began, in one array. They change synchronously, so a copy taken in one
 * go always adds up, and stays the same while a scrape is written.
 */
export class UpstreamAccounts implements Recorder {
  readonly #numbers: Float64Array;

  /** On a copy of numbers, or from zero. */
  constructor(numbers: Float64Array = emptyNumbers()) {
    this.#numbers = numbers;
  }

  copyTo(numbers: Float64Array, at: number): void {
    numbers.set(this.#numbers, at);
  }

  record(event: PollEvent): void {
    switch (event.kind) {
      case "slot_waiting":
        this.#add(WAITING, 1);
        return;
      case "slot_started":
        this.#add(WAITING, -1);
        this.#add(SLOTS, 1);
        this.#add(IN_FLIGHT, 1);
        return;
      case "slots_skipped":
        if (event.hadWaited) this.#add(WAITING, -1);
        this.#add(SLOTS, event.count);
        this.#add(SKIPPED.get(event.cause), event.count);
        return;
      case "polled":
        this.#numbers[LAST_POLL_AT_MS] = event.poll.endedAtMs;
        return;
      case "judged":
        this.#judged(event.poll);
        return;
      case "pause_requested":
      case "health_changed":
      case "unwatched":
        // Facts of now, not counts: a scrape reads them where they are kept.
        return;
      default:
        event satisfies never;
    }
  }

  get slots(): number {
    return this.#at(SLOTS);
  }

  get waiting(): number {
    return this.#at(WAITING);
  }

  get inFlight(): number {
    return this.#at(IN_FLIGHT);
  }

  get totalPolls(): number {
    return this.#total(POLLS);
  }

  get totalSkipped(): number {
    return this.#total(SKIPPED);
  }

  get withinObjective(): number {
    return this.#at(WITHIN_OBJECTIVE);
  }

  get malformedSignals(): number {
    return this.#at(MALFORMED_SIGNALS);
  }

  get lastPollAtMs(): number | undefined {
    return this.#known(LAST_POLL_AT_MS);
  }

  get lastSuccessAtMs(): number | undefined {
    return this.#known(LAST_SUCCESS_AT_MS);
  }

  get certificateExpiresAtMs(): number | undefined {
    return this.#known(CERTIFICATE_EXPIRES_AT_MS);
  }

  get deprecatedAtMs(): number | undefined {
    return this.#known(DEPRECATED_AT_MS);
  }

  get sunsetAtMs(): number | undefined {
    return this.#known(SUNSET_AT_MS);
  }

  get delay(): HistogramReading {
    return this.#histogram(DELAY, DELAY_BOUNDS);
  }

  polls(outcome: Outcome): number {
    return this.#at(POLLS.get(outcome));
  }

  /** Undefined until it was met. */
  pollsBecauseOf(reason: Reason): number | undefined {
    return this.#at(BY_REASON.get(reason)) || undefined;
  }

  skipped(cause: SkipCause): number {
    return this.#at(SKIPPED.get(cause));
  }

  responses(code: string): number {
    return this.#at(RESPONSES.get(code));
  }

  duration(outcome: Outcome): HistogramReading {
    return this.#histogram(DURATION[outcome], DURATION_BOUNDS);
  }

  /** Undefined until the phase has happened: a plain connection has no `tls`. */
  phase(phase: Phase): PhaseTotal | undefined {
    const count = this.#at(PHASE_COUNT.get(phase));
    return count === 0 ? undefined : { count, sumSeconds: this.#at(PHASE_SECONDS.get(phase)) };
  }

  #judged(poll: Poll): void {
    const { kind, reason } = poll.outcome;
    this.#add(IN_FLIGHT, -1);
    this.#add(POLLS.get(kind), 1);
    this.#add(BY_REASON.get(reason), 1);
    observeIn(this.#numbers, DURATION[kind], DURATION_BOUNDS, elapsedSeconds(poll.durationMs));
    observeIn(this.#numbers, DELAY, DELAY_BOUNDS, elapsedSeconds(poll.delayMs));
    this.#addPhases(poll);
    if (poll.head !== undefined) this.#add(RESPONSES.get(codeLabel(poll.head.status)), 1);
    if (poll.withinObjective) this.#add(WITHIN_OBJECTIVE, 1);
    if (kind === "ok") this.#numbers[LAST_SUCCESS_AT_MS] = poll.endedAtMs;
    this.#add(MALFORMED_SIGNALS, poll.malformedSignals);
    // A reused connection shows no certificate: the last one still holds.
    if (poll.certificateExpiresAtMs !== undefined) {
      this.#numbers[CERTIFICATE_EXPIRES_AT_MS] = poll.certificateExpiresAtMs;
    }
    if (poll.announcement !== undefined || kind === "ok") this.#announced(poll.announcement, poll.endedAtMs);
  }

  /** A refusal may leave it out: only an ok answer without it takes it back. */
  #announced(announcement: Announcement | undefined, atMs: number): void {
    const { isDeprecated = false, deprecatedAtMs, sunsetAtMs } = announcement ?? {};
    // Said without a date: since we first heard it.
    const heardAtMs = isDeprecated ? (this.deprecatedAtMs ?? atMs) : UNKNOWN;
    this.#numbers[DEPRECATED_AT_MS] = deprecatedAtMs ?? heardAtMs;
    this.#numbers[SUNSET_AT_MS] = sunsetAtMs ?? UNKNOWN;
  }

  #addPhases(poll: Poll): void {
    for (let index = 0; index < PHASES.length; index += 1) {
      const phase = PHASES[index];
      const durationMs = phase && poll.phasesMs[phase];
      if (durationMs === undefined) continue;
      this.#add(PHASE_COUNT_FROM + index, 1);
      this.#add(PHASE_SECONDS_FROM + index, elapsedSeconds(durationMs));
    }
  }

  #histogram(from: number, bounds: readonly number[]): Histogram {
    return new Histogram(bounds, this.#numbers, from);
  }

  #add(place: number | undefined, amount: number): void {
    if (place !== undefined) this.#numbers[place] = this.#at(place) + amount;
  }

  #at(place: number | undefined): number {
    return place === undefined ? 0 : (this.#numbers[place] ?? 0);
  }

  #known(place: number): number | undefined {
    return known(this.#at(place));
  }

  #total(places: ReadonlyMap<string, number>): number {
    let sum = 0;
    for (const place of places.values()) sum += this.#at(place);
    return sum;
  }
}

function emptyNumbers(): Float64Array {
  const numbers = new Float64Array(layout.length);
  numbers[LAST_POLL_AT_MS] = UNKNOWN;
  numbers[LAST_SUCCESS_AT_MS] = UNKNOWN;
  numbers[CERTIFICATE_EXPIRES_AT_MS] = UNKNOWN;
  numbers[DEPRECATED_AT_MS] = UNKNOWN;
  numbers[SUNSET_AT_MS] = UNKNOWN;
  return numbers;
}

/** A clock step can make a delay negative, and a sum that shrinks would look like a counter reset. */
function elapsedSeconds(durationMs: number): number {
  return durationMs > 0 && Number.isFinite(durationMs) ? durationMs / 1000 : 0;
}

/** Redis calls since the process began. */
export class RedisAccount {
  readonly #durations = new Map<string, Histogram>();
  readonly #errors = new Map<RedisFailure, number>();

  /** By name of the call, in order of the first call. */
  get durations(): ReadonlyMap<string, HistogramReading> {
    return this.#durations;
  }

  errors(kind: RedisFailure): number {
    return this.#errors.get(kind) ?? 0;
  }

  observe(call: string, durationMs: number, failure: RedisFailure | undefined): void {
    if (failure !== undefined) this.#errors.set(failure, this.errors(failure) + 1);
    // Nothing was sent, so there is no duration.
    if (failure === "away") return;
    const known = this.#durations.get(call);
    const durations = known ?? new Histogram(CATALOGUE.pacewatch_redis_request_duration_seconds.buckets);
    if (known === undefined) this.#durations.set(call, durations);
    durations.observe(Math.max(0, durationMs) / 1000);
  }
}
