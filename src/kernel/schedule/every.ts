import { DAY_MS, SECOND_MS } from "../time/duration.ts";
import type { Slots } from "./slots.ts";

/** One slot in each period, reckoned from 1970, so many seconds after its beginning. */
export class Every implements Slots {
  readonly text: string;
  readonly isEven = true;
  readonly watchedRatio = 1;
  readonly #periodMs: number;
  readonly #phaseMs: number;

  constructor(periodSeconds: number, phaseSeconds: number) {
    this.text = `every ${periodSeconds}s at ${phaseSeconds}s`;
    this.#periodMs = periodSeconds * SECOND_MS;
    this.#phaseMs = phaseSeconds * SECOND_MS;
  }

  /** Undefined for what is none. */
  static read(text: string): Every | undefined {
    const [, period, phase] = /^every (\d+)s at (\d+)s$/.exec(text) ?? [];
    return period === undefined ? undefined : new Every(Number(period), Number(phase));
  }

  get slotsPerDay(): number {
    return DAY_MS / this.#periodMs;
  }

  get usualGapMs(): number {
    return this.#periodMs;
  }

  get shortestGapMs(): number {
    return this.#periodMs;
  }

  get longestGapMs(): number {
    return this.#periodMs;
  }

  next(wallMs: number): number {
    return Number.isFinite(wallMs)
      ? (this.#slotsUntil(wallMs) + 1) * this.#periodMs + this.#phaseMs
      : Infinity;
  }

  countBetween(fromMs: number, toMs: number): number {
    if (!Number.isFinite(fromMs) || !Number.isFinite(toMs)) return 0;
    return Math.max(0, this.#slotsUntil(toMs) - this.#slotsUntil(fromMs));
  }

  mostWithin(windowMs: number): number {
    return Math.ceil(windowMs / this.#periodMs);
  }

  #slotsUntil(wallMs: number): number {
    return Math.floor((wallMs - this.#phaseMs) / this.#periodMs);
  }
}
