/** How an upstream may count: as the simulated ones of the demo do, or by a bucket of tokens. */

import {
  type Algorithm,
  fixedWindow,
  type Limit,
  type Meter,
  type Room,
  slidingLog,
} from "../../src/simulator/meters.ts";

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

export const ALGORITHM_NAMES = ["sliding_log", "fixed_window", "token_bucket"] as const;
export type AlgorithmName = (typeof ALGORITHM_NAMES)[number];

export const ALGORITHMS: Readonly<Record<AlgorithmName, Algorithm>> = {
  sliding_log: slidingLog,
  fixed_window: fixedWindow,
  token_bucket: (limit) => new TokenBucket(limit),
};
