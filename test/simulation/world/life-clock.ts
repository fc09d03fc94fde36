import type { Clock } from "../../../src/kernel/time/clock.ts";
import type { VirtualClock } from "../../support/virtual/clock.ts";

const ROUNDING_MS = 1e-6;

type Pending = { cancel(): void };

/**
 * The clocks and timers as one process has them: they count from its own beginning, fire late, stand still while
 * the process does (the world goes on meanwhile), and never fire again once it is dead.
 */
export class LifeClock implements Clock {
  readonly #world: VirtualClock;
  readonly #originMs: number;
  readonly #lagMs: () => number;
  readonly #rate: number;
  #stalledUntilMs = Number.NEGATIVE_INFINITY;
  /** The machine was suspended for so long, by the world's time, and is until then: its monotonic clock stood still. */
  #suspendedMs = 0;
  #suspendedUntilMs = Number.NEGATIVE_INFINITY;
  #isDead = false;

  /** `rate`: how fast it runs against the world's time. */
  constructor(world: VirtualClock, originMs: number, lagMs: () => number, rate = 1) {
    this.#world = world;
    this.#originMs = originMs;
    this.#lagMs = lagMs;
    this.#rate = rate;
  }

  get isStandingStill(): boolean {
    return this.#stalledUntilMs > this.#world.now();
  }

  now(): number {
    return this.#awakeMs * this.#rate + this.#originMs;
  }

  wallNow(): number {
    return this.#world.wallNow();
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const cancel = (): void => {
        pending.cancel();
        resolve();
      };
      const pending = this.after(delayMs, () => {
        signal?.removeEventListener("abort", cancel);
        resolve();
      });
      signal?.addEventListener("abort", cancel, { once: true });
    });
  }

  after(delayMs: number, fire: () => void): Pending {
    let pending: Pending;
    // As a timer of the machine is rounded up: a moment that is lost in rounding would never pass.
    const leastMs = delayMs > 0 ? Math.max(delayMs, ROUNDING_MS) : 0;
    const dueMs = this.#awakeMs + leastMs / this.#rate + this.#lagMs();
    const turn = (): void => {
      if (this.#isDead) return;
      const waitMs = Math.max(this.#stalledUntilMs, this.#suspendedUntilMs) - this.#world.now();
      const restMs = dueMs - this.#awakeMs;
      if (waitMs > 0 || restMs > ROUNDING_MS / 2) pending = this.#world.after(Math.max(waitMs, restMs), turn);
      else fire();
    };
    pending = this.#world.after(dueMs - this.#awakeMs, turn);
    return { cancel: () => pending.cancel() };
  }

  suspend(forMs: number): void {
    const fromMs = Math.max(this.#suspendedUntilMs, this.#world.now());
    this.#suspendedUntilMs = fromMs + forMs;
    this.#suspendedMs += forMs;
  }

  /** The world's time without what was spent suspended. */
  get #awakeMs(): number {
    return this.#world.now() - this.#suspendedMs + Math.max(0, this.#suspendedUntilMs - this.#world.now());
  }

  stall(forMs: number): void {
    this.#stalledUntilMs = Math.max(this.#stalledUntilMs, this.#world.now() + forMs);
  }

  die(): void {
    this.#isDead = true;
  }
}
