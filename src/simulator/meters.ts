/** The algorithms by which an upstream decides whether there is room for one more request. */

export type Limit = { readonly requests: number; readonly perMs: number };

export const ALGORITHMS = ["sliding_log", "fixed_window", "token_bucket"] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

export type Room = {
  readonly remaining: number;
  /** Whole milliseconds until there is room for one more request than now; 0 where nothing is used. */
  readonly resetMs: number;
};

export interface Meter {
  room(nowMs: number): Room;
  charge(nowMs: number): void;
}

/** `windowStartMs`: any moment at which a fixed window began. */
export function meterFor(limit: Limit, algorithm: Algorithm, windowStartMs: number): Meter {
  switch (algorithm) {
    case "sliding_log":
      return new SlidingLog(limit);
    case "fixed_window":
      return new FixedWindow(limit, windowStartMs);
    case "token_bucket":
      return new TokenBucket(limit);
    default:
      return algorithm satisfies never;
  }
}

/** At most `requests` in every half-open window (now − perMs, now]. */
export class SlidingLog implements Meter {
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

/** `requests` at once, then one every perMs / requests: nearly twice as many in the first window. */
class TokenBucket implements Meter {
  readonly #limit: Limit;
  /** A request costs `perMs`, and each millisecond adds `requests`: whole numbers, so nothing is rounded. */
  #level: number;
  #filledAtMs = Number.NaN;

  constructor(limit: Limit) {
    this.#limit = limit;
    this.#level = this.#full;
  }

  get #full(): number {
    return this.#limit.requests * this.#limit.perMs;
  }

  room(nowMs: number): Room {
    const sinceMs = Number.isNaN(this.#filledAtMs) ? 0 : nowMs - this.#filledAtMs;
    this.#level = Math.min(this.#full, this.#level + sinceMs * this.#limit.requests);
    this.#filledAtMs = nowMs;
    const remaining = Math.floor(this.#level / this.#limit.perMs);
    const missing = (remaining + 1) * this.#limit.perMs - this.#level;
    return {
      remaining,
      resetMs: this.#level === this.#full ? 0 : Math.ceil(missing / this.#limit.requests),
    };
  }

  charge(nowMs: number): void {
    this.room(nowMs);
    this.#level -= this.#limit.perMs;
  }
}
