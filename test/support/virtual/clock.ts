import type { Clock } from "../../../src/kernel/time/clock.ts";

type Timer = { atMs: number; readonly order: number; readonly fire: () => void; isCancelled: boolean };

const DONE = Promise.resolve();

/** After so many events in a row the event loop gets its turn: messages, and whoever waits for this one. */
const EVENTS_AT_A_STRETCH = 4_096;

/** Time that passes only when told to, event by event; the wall can be stepped under it. */
export class VirtualClock implements Clock {
  #nowMs: number;
  #wallOffsetMs: number;
  #order = 0;
  #isHalted = false;
  /** A binary heap by moment, then by order of coming. */
  readonly #timers: Timer[] = [];

  constructor(options: { nowMs?: number; wallMs?: number } = {}) {
    this.#nowMs = options.nowMs ?? 0;
    this.#wallOffsetMs = (options.wallMs ?? 1_700_000_000_000) - this.#nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  wallNow(): number {
    return this.#nowMs + this.#wallOffsetMs;
  }

  stepWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const done = (): void => {
        signal?.removeEventListener("abort", cancel);
        resolve();
      };
      const timer = this.#push(Math.max(0, delayMs), done);
      const cancel = (): void => {
        timer.isCancelled = true;
        done();
      };
      signal?.addEventListener("abort", cancel);
    });
  }

  /** For parts of a test world; like `setTimeout`. */
  after(delayMs: number, fire: () => void): { cancel(): void } {
    const timer = this.#push(Math.max(0, delayMs), fire);
    return { cancel: () => void (timer.isCancelled = true) };
  }

  /** Lets everything happen that is due within `ms`. */
  advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    let events = 0;
    return new Promise((resolve, reject) => {
      const next = (): void => {
        try {
          if (this.#fireNext(untilMs)) onceSettled();
          else resolve();
        } catch (error) {
          reject(error);
        }
      };
      // What a microtask leaves for the next tick runs after the last microtask: every promise has gone on by then.
      const soon = (): void => {
        events += 1;
        if (events % EVENTS_AT_A_STRETCH === 0) setImmediate(next);
        else process.nextTick(next);
      };
      const onceSettled = (): void => void DONE.then(soon);
      onceSettled();
    });
  }

  /** The process stands still: time passes, nothing fires until it goes on. */
  stall(ms: number): void {
    this.#nowMs += ms;
  }

  /** Ends the `advance` that runs at the event that runs: what it was to bring does not happen. */
  halt(): void {
    this.#isHalted = true;
  }

  #fireNext(untilMs: number): boolean {
    let timer = this.#timers[0];
    while (timer?.isCancelled === true) {
      this.#pop();
      timer = this.#timers[0];
    }
    if (this.#isHalted) return false;
    if (timer === undefined || timer.atMs > untilMs) {
      this.#nowMs = Math.max(this.#nowMs, untilMs);
      return false;
    }
    this.#pop();
    this.#nowMs = Math.max(this.#nowMs, timer.atMs);
    timer.fire();
    return true;
  }

  #push(delayMs: number, fire: () => void): Timer {
    const timer = { atMs: this.#nowMs + delayMs, order: this.#order++, fire, isCancelled: false };
    this.#timers.push(timer);
    let index = this.#timers.length - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(timer, this.#timers[parent])) break;
      this.#timers[index] = this.#timers[parent] as Timer;
      index = parent;
    }
    this.#timers[index] = timer;
    return timer;
  }

  #pop(): void {
    const last = this.#timers.pop();
    if (last === undefined || this.#timers.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const right = this.#timers[child + 1];
      if (right !== undefined && isBefore(right, this.#timers[child])) child += 1;
      const smaller = this.#timers[child];
      if (smaller === undefined || !isBefore(smaller, last)) break;
      this.#timers[index] = smaller;
      index = child;
    }
    this.#timers[index] = last;
  }
}

function isBefore(a: Timer, b: Timer | undefined): boolean {
  return b === undefined || a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** Until every promise that can go on has gone on. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
