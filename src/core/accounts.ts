import { CATALOGUE } from "./catalogue.ts";
import { PHASES, type Phase } from "./exchange.ts";
import { Histogram, type HistogramReading } from "./histogram.ts";
import { reasonOf, type PollOutcome, type SkipCause } from "./outcome.ts";
import type { Poll } from "./poll.ts";
import type { Recorder } from "./ports.ts";
import { codeLabel } from "./status-codes.ts";

type PhaseTotal = { readonly count: number; readonly sumSeconds: number };

/**
 * The numbers of one upstream since the process began. Plain fields, changed and read synchronously: so whoever
 * reads them all in one go sees accounts that close.
 */
export class UpstreamAccounts implements Recorder {
  #slots = 0;
  #waiting = 0;
  #inFlight = 0;
  #withinObjective = 0;
  #malformedSignals = 0;
  #lastPollAtMs: number | undefined;
  #lastSuccessAtMs: number | undefined;
  #certificateExpiresAtMs: number | undefined;
  readonly #polls = new Map<string, number>();
  readonly #skipped = new Map<SkipCause, number>();
  readonly #responses = new Map<string, number>();
  readonly #phases = new Map<Phase, PhaseTotal>();
  readonly #delay = new Histogram(CATALOGUE.pacewatch_poll_delay_seconds.buckets);
  readonly #durations = {
    ok: new Histogram(CATALOGUE.pacewatch_poll_duration_seconds.buckets),
    failed: new Histogram(CATALOGUE.pacewatch_poll_duration_seconds.buckets),
    throttled: new Histogram(CATALOGUE.pacewatch_poll_duration_seconds.buckets),
  };

  slotWaiting(): void {
    this.#waiting += 1;
  }

  slotStarted(): void {
    this.#waiting -= 1;
    this.#slots += 1;
    this.#inFlight += 1;
  }

  slotSkipped(cause: SkipCause, count: number): void {
    this.#slots += count;
    add(this.#skipped, cause, count);
  }

  slotGaveUp(cause: SkipCause): void {
    this.#waiting -= 1;
    this.slotSkipped(cause, 1);
  }

  polled(poll: Poll): void {
    this.#inFlight -= 1;
    add(this.#polls, pollKey(poll.outcome.kind, reasonOf(poll.outcome)), 1);
    this.#durations[poll.outcome.kind].observe(elapsedSeconds(poll.durationMs));
    this.#delay.observe(elapsedSeconds(poll.delayMs));
    this.#addPhases(poll);
    if (poll.head !== undefined) {
      add(this.#responses, codeLabel(poll.head.status), 1);
    }
    if (poll.withinObjective) {
      this.#withinObjective += 1;
    }
    if (poll.outcome.kind === "ok") {
      this.#lastSuccessAtMs = poll.endedAtMs;
    }
    this.#lastPollAtMs = poll.endedAtMs;
    this.#malformedSignals += poll.malformedSignals;
    // A reused connection shows no certificate: what was seen last still stands.
    this.#certificateExpiresAtMs = poll.certificateExpiresAtMs ?? this.#certificateExpiresAtMs;
  }

  /** Health is a fact of now, not a count: a scrape reads it where it is kept. */
  healthChanged(): void {}

  /** Every slot is accounted for. False only if the engine told the story in an impossible order. */
  closes(): boolean {
    const closed = this.#slots === this.totalPolls + this.#inFlight + this.totalSkipped;
    return closed && this.#waiting >= 0 && this.#inFlight >= 0;
  }

  get slots(): number {
    return this.#slots;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get totalPolls(): number {
    return total(this.#polls);
  }

  get totalSkipped(): number {
    return total(this.#skipped);
  }

  get withinObjective(): number {
    return this.#withinObjective;
  }

  get malformedSignals(): number {
    return this.#malformedSignals;
  }

  get lastPollAtMs(): number | undefined {
    return this.#lastPollAtMs;
  }

  get lastSuccessAtMs(): number | undefined {
    return this.#lastSuccessAtMs;
  }

  get certificateExpiresAtMs(): number | undefined {
    return this.#certificateExpiresAtMs;
  }

  get delay(): HistogramReading {
    return this.#delay;
  }

  polls(outcome: PollOutcome["kind"], reason: string): number {
    return this.#polls.get(pollKey(outcome, reason)) ?? 0;
  }

  skipped(cause: SkipCause): number {
    return this.#skipped.get(cause) ?? 0;
  }

  responses(code: string): number {
    return this.#responses.get(code) ?? 0;
  }

  duration(outcome: PollOutcome["kind"]): HistogramReading {
    return this.#durations[outcome];
  }

  /** Undefined until the phase has happened: a plain connection never has a `tls`. */
  phase(phase: Phase): PhaseTotal | undefined {
    return this.#phases.get(phase);
  }

  #addPhases(poll: Poll): void {
    for (const phase of PHASES) {
      const durationMs = poll.phasesMs[phase];
      if (durationMs !== undefined) {
        const before = this.#phases.get(phase) ?? { count: 0, sumSeconds: 0 };
        const sumSeconds = before.sumSeconds + elapsedSeconds(durationMs);
        this.#phases.set(phase, { count: before.count + 1, sumSeconds });
      }
    }
  }
}

function pollKey(outcome: PollOutcome["kind"], reason: string): string {
  return `${outcome}/${reason}`;
}

/** A clock that was stepped can make a delay negative; a sum that shrinks would read as a counter's reset. */
function elapsedSeconds(durationMs: number): number {
  return durationMs > 0 && Number.isFinite(durationMs) ? durationMs / 1000 : 0;
}

function add<Key>(counts: Map<Key, number>, key: Key, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

function total(counts: ReadonlyMap<unknown, number>): number {
  let sum = 0;
  for (const count of counts.values()) {
    sum += count;
  }
  return sum;
}
