import { type Algorithm, type Limit, type Meter, type Room, slidingLog } from "./meters.ts";

export type LimitRoom = Room & { readonly limit: Limit };

export type Verdict = {
  readonly allowed: boolean;
  /** So many are left of the scarcest limit; infinite without limits. */
  readonly remaining: number;
  /** If refused: until the same request would be allowed. If allowed: until the scarcest limit has more room. */
  readonly resetMs: number;
  /** After this request, one for each limit. */
  readonly rooms: readonly LimitRoom[];
};

export type BusiestWindow = { readonly limit: Limit; readonly requests: number };

type Watched = {
  readonly limit: Limit;
  readonly meter: Meter;
  /** All requests of the last window, refused or not. */
  readonly all: Meter;
  most: number;
};

/**
 * Counts the requests that reached an upstream. Time is an argument, and monotonic. A refused request uses none of the
 * limits, but `worstWindow` counts it.
 */
export class RequestLedger {
  readonly #watched: readonly Watched[];
  #requests = 0;
  #violations = 0;

  constructor(limits: readonly Limit[], algorithm: Algorithm, windowStartMs = 0) {
    this.#watched = limits.map((limit) => ({
      limit,
      meter: algorithm(limit, windowStartMs),
      all: slidingLog(limit, 0),
      most: 0,
    }));
  }

  /** All requests, refused or not. */
  get requests(): number {
    return this.#requests;
  }

  /** Refused requests. */
  get violations(): number {
    return this.#violations;
  }

  count(nowMs: number): Verdict {
    this.#requests += 1;
    for (const watched of this.#watched) {
      watched.all.charge(nowMs);
      const used = watched.limit.requests - watched.all.room(nowMs).remaining;
      watched.most = Math.max(watched.most, used);
    }
    const allowed = this.#watched.every(({ meter }) => meter.room(nowMs).remaining >= 1);
    if (allowed) for (const { meter } of this.#watched) meter.charge(nowMs);
    else this.#violations += 1;
    return verdict(
      allowed,
      this.#watched.map(({ limit, meter }) => ({ limit, ...meter.room(nowMs) })),
    );
  }

  /** For each limit, the most requests in any window of its length, wherever it begins. */
  worstWindow(): readonly BusiestWindow[] {
    return this.#watched.map(({ limit, most }) => ({ limit, requests: most }));
  }
}

function verdict(allowed: boolean, rooms: readonly LimitRoom[]): Verdict {
  const remaining = Math.min(...rooms.map((room) => room.remaining));
  const scarcest = rooms.filter((room) => room.remaining === remaining);
  return { allowed, remaining, resetMs: Math.max(0, ...scarcest.map((room) => room.resetMs)), rooms };
}
