import { hash32 } from "../schedule/hash.ts";

/** A time up that is shorter than this was a flap: the next recovery is believed later. */
const STABLE_MS = 10_000;
/** Longer than the time between two attempts of whoever Redis keeps refusing. */
const FIRST_QUIET_MS = 1_500;
const LONGEST_QUIET_MS = 30_000;
/** Of one fault. A server that invents another error each time would fill the log, and the memory. */
const MOST_TOLD = 20;
const KIND_CHARS = 100;

/**
 * Whether Redis is well, from the outcomes of all calls. While it serves some commands and refuses others, it is not:
 * only a write that succeeds, after some time without a failure, ends a fault.
 */
export class RedisHealth {
  #isUp = false;
  #upSinceMs = Number.NEGATIVE_INFINITY;
  #quietMs = 0;
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  /** Hashes: a text that was cut off another keeps that one in memory. */
  #told = new Set<number>();

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Whether this write ends the fault. */
  wrote(nowMs: number): boolean {
    if (this.#isUp || nowMs < this.#notBeforeMs) return false;
    this.#isUp = true;
    this.#upSinceMs = nowMs;
    this.#told = new Set();
    return true;
  }

  /** Whether this failure begins a fault. After a lost connection a new one may be well at once. */
  failed(isLost: boolean, nowMs: number): boolean {
    const wasUp = this.#isUp;
    if (wasUp) {
      const isFlap = nowMs - this.#upSinceMs < STABLE_MS;
      this.#quietMs = isFlap ? Math.min(LONGEST_QUIET_MS, Math.max(FIRST_QUIET_MS, 2 * this.#quietMs)) : 0;
    }
    const quietMs = isLost ? this.#quietMs : Math.max(FIRST_QUIET_MS, this.#quietMs);
    this.#notBeforeMs = Math.max(this.#notBeforeMs, nowMs + quietMs);
    this.#isUp = false;
    return wasUp;
  }

  /** Each kind of problem is told once, until Redis has been well again. */
  isNews(problem: string): boolean {
    const kind = hash32(problem.slice(0, KIND_CHARS));
    if (this.#told.has(kind) || this.#told.size >= MOST_TOLD) return false;
    this.#told.add(kind);
    return true;
  }
}
