/** The algorithms by which an upstream decides whether there is room for one more request. */

export type Limit = { readonly requests: number; readonly perMs: number };

export type Room = {
  readonly remaining: number;
  /** Whole milliseconds until there is room for one more request than now; 0 where nothing is used. */
  readonly resetMs: number;
};

export interface Meter {
  room(nowMs: number): Room;
  charge(nowMs: number): void;
}

/** How an upstream counts. `windowStartMs`: any moment at which a fixed window began. */
export type Algorithm = (limit: Limit, windowStartMs: number) => Meter;

export const slidingLog: Algorithm = (limit) => new SlidingLog(limit);
export const fixedWindow: Algorithm = (limit, windowStartMs) => new FixedWindow(limit, windowStartMs);

/** At most `requests` in every half-open window (now − perMs, now]. */
class SlidingLog implements Meter {
  readonly #limit: Limit;
  readonly #chargedAtMs: number[] = [];

  constructor(limit: Limit) {
    this.#limit = limit;
  }

  room(nowMs: number): Room {
    const recent = this.#chargedAtMs.findIndex((atMs) => atMs > nowMs - this.#limit.perMs);
    this.#chargedAtMs.splice(0, recent === -1 ? this.#chargedAtMs.length : recent);
    const oldestMs = this.#chargedAtMs[0];
    return {
      remaining: this.#limit.requests - this.#chargedAtMs.length,
      resetMs: oldestMs === undefined ? 0 : Math.ceil(this.#limit.perMs - (nowMs - oldestMs)),
    };
  }

  charge(nowMs: number): void {
    this.#chargedAtMs.push(nowMs);
  }
}

/** At most `requests` in each fixed window: up to twice as many around a window's edge. */
class FixedWindow implements Meter {
  readonly #limit: Limit;
  readonly #windowStartMs: number;
  #window = Number.NaN;
  #used = 0;

  constructor(limit: Limit, windowStartMs: number) {
    this.#limit = limit;
    this.#windowStartMs = windowStartMs;
  }

  room(nowMs: number): Room {
    const sinceStartMs = nowMs - this.#windowStartMs;
    const window = Math.floor(sinceStartMs / this.#limit.perMs);
    if (window !== this.#window) {
      this.#window = window;
      this.#used = 0;
    }
    return {
      remaining: this.#limit.requests - this.#used,
      resetMs:
        this.#used === 0 ? 0 : Math.ceil(this.#limit.perMs - (sinceStartMs - window * this.#limit.perMs)),
    };
  }

  charge(_nowMs: number): void {
    this.#used += 1;
  }
}
