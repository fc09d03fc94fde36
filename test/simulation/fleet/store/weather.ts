import type { VirtualClock } from "../../../support/virtual/clock.ts";

/** What is wrong with the ways to the store now. */
export class StoreWeather {
  readonly #world: VirtualClock;
  readonly #cutUntilMs = new Map<number, number>();
  #awayUntilMs = 0;
  #refusesUntilMs = 0;
  #slowUntilMs = 0;
  #lossyUntilMs = 0;

  constructor(world: VirtualClock) {
    this.#world = world;
  }

  cut(replica: number, forMs: number): void {
    this.#cutUntilMs.set(replica, Math.max(this.cutUntilMs(replica), this.#world.now() + forMs));
  }

  away(forMs: number, refuses: boolean): void {
    const untilMs = this.#world.now() + forMs;
    this.#awayUntilMs = Math.max(this.#awayUntilMs, untilMs);
    if (refuses) this.#refusesUntilMs = Math.max(this.#refusesUntilMs, untilMs);
  }

  slow(forMs: number): void {
    this.#slowUntilMs = Math.max(this.#slowUntilMs, this.#world.now() + forMs);
  }

  lossy(forMs: number): void {
    this.#lossyUntilMs = Math.max(this.#lossyUntilMs, this.#world.now() + forMs);
  }

  cutUntilMs(replica: number): number {
    return this.#cutUntilMs.get(replica) ?? 0;
  }

  isCut(replica: number): boolean {
    return this.#world.now() < this.cutUntilMs(replica);
  }

  get isAway(): boolean {
    return this.#world.now() < this.#awayUntilMs;
  }

  get isRefusing(): boolean {
    return this.#world.now() < this.#refusesUntilMs;
  }

  get isSlow(): boolean {
    return this.#world.now() < this.#slowUntilMs;
  }

  get isLossy(): boolean {
    return this.#world.now() < this.#lossyUntilMs;
  }
}
