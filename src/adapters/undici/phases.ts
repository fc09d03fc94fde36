import type { Phase, PhaseTimesMs } from "../../core/exchange/exchange.ts";
import type { Clock } from "../../core/time/clock.ts";

/** Phases follow each other without a gap; the one in which an exchange breaks keeps the time that it had. */
export class PhaseTimer {
  readonly #clock: Clock;
  readonly #timesMs: Partial<Record<Phase, number>> = {};
  #phase: Phase | undefined;
  #sinceMs = 0;
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The phase that runs, or in which it stopped. */
  get phase(): Phase | undefined {
    return this.#phase;
  }

  get timesMs(): PhaseTimesMs {
    return this.#timesMs;
  }

  enter(phase: Phase): void {
    if (this.#stopped) return;
    this.#account();
    this.#phase = phase;
  }

  stop(): void {
    if (this.#stopped) return;
    this.#account();
    this.#stopped = true;
  }

  #account(): void {
    const nowMs = this.#clock.now();
    if (this.#phase !== undefined) {
      this.#timesMs[this.#phase] = (this.#timesMs[this.#phase] ?? 0) + nowMs - this.#sinceMs;
    }
    this.#sinceMs = nowMs;
  }
}
