import type { VirtualClock } from "../../../support/virtual/clock.ts";

/** The clock of the store, and which server it is that answers. */
export type StoreTime = { readonly nowMs: number; readonly runId: string };

/** What one call does there, all at once. */
export type StoreStep<Memory, Answer> = (memory: Memory, time: StoreTime) => Answer;

const BEGINNING_MS = 1_700_000_000_000;

/** The one store that all replicas share: it can be emptied and replaced, and its clock can be stepped. */
export class StoreServer<Memory> {
  readonly #world: VirtualClock;
  readonly #rate: number;
  readonly #open: () => Memory;
  /** All that was done since it was empty, where a server that takes over needs it. */
  readonly #done: {
    readonly step: StoreStep<Memory, unknown>;
    readonly time: StoreTime;
    readonly atMs: number;
  }[];
  readonly #isReplicated: boolean;
  #memory: Memory;
  #steppedMs = 0;
  #runs = 1;
  steps = 0;

  constructor(world: VirtualClock, rate: number, isReplicated: boolean, open: () => Memory) {
    this.#world = world;
    this.#rate = rate;
    this.#isReplicated = isReplicated;
    this.#open = open;
    this.#memory = open();
    this.#done = [];
  }

  get memory(): Memory {
    return this.#memory;
  }

  get time(): StoreTime {
    const nowMs = BEGINNING_MS + this.#world.now() * this.#rate + this.#steppedMs;
    return { nowMs, runId: `run${this.#runs}` };
  }

  run<Answer>(step: StoreStep<Memory, Answer>): Answer {
    const { time } = this;
    this.steps += 1;
    if (this.#isReplicated) this.#done.push({ step, time, atMs: this.#world.now() });
    return step(this.#memory, time);
  }

  empty(restarts: boolean): void {
    this.#memory = this.#open();
    this.#done.length = 0;
    if (restarts) this.#runs += 1;
  }

  /** A replica of it takes over that was behind by so much. */
  promote(lostMs: number): void {
    const untilMs = this.#world.now() - lostMs;
    const kept = this.#done.filter(({ atMs }) => atMs <= untilMs);
    this.empty(true);
    for (const write of kept) {
      write.step(this.#memory, write.time);
      this.#done.push(write);
    }
  }

  stepClock(byMs: number): void {
    this.#steppedMs += byMs;
  }
}
