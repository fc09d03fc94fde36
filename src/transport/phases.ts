import type { Phase } from "../kernel/exchange/exchange.ts";
import type { Clock } from "../kernel/time/clock.ts";

/** Phases follow each other without a gap. The phase in which an exchange breaks keeps its time so far. */
export class PhaseTimer {
  readonly #clock: Clock;
  readonly timesMs: Partial<Record<Phase, number>> = {};
  #phase: Phase | undefined;
  #sinceMs = 0;
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The current phase, or the one in which it stopped. */
  get phase(): Phase | undefined {
    return this.#phase;
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
      this.timesMs[this.#phase] = (this.timesMs[this.#phase] ?? 0) + nowMs - this.#sinceMs;
    }
    this.#sinceMs = nowMs;
  }
}
