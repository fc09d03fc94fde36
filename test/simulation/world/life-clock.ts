import type { Clock } from "../../../src/kernel/time/clock.ts";
import type { VirtualClock } from "../../support/virtual/clock.ts";

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
    return this.#world.now() * this.#rate + this.#originMs;
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
    const turn = (): void => {
      if (this.#isDead) return;
      const waitMs = this.#stalledUntilMs - this.#world.now();
      if (waitMs > 0) pending = this.#world.after(waitMs, turn);
      else fire();
    };
    pending = this.#world.after(Math.max(0, delayMs) / this.#rate + this.#lagMs(), turn);
    return { cancel: () => pending.cancel() };
  }

  stall(forMs: number): void {
    this.#stalledUntilMs = Math.max(this.#stalledUntilMs, this.#world.now() + forMs);
  }

  die(): void {
    this.#isDead = true;
  }
}
