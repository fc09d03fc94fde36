/** What the upstream's own words hold a budget back by: pauses, backing off, lowered limits, yielding. */

import type { Advice } from "../advice/advice.ts";
import type { Budget, Rate } from "../config/config.ts";
import { longestWindowMs, ordersOf, type Orders } from "./orders.ts";
import { StandingOrders } from "./standing-orders.ts";

export class Restraint {
  #budget: Budget;
  readonly #standing = new StandingOrders();

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  change(budget: Budget): void {
    this.#budget = budget;
    this.#standing.keepWindows(new Set(budget.rates.map((rate) => rate.perMs)));
  }

  /** Monotonic; in the past where there is no pause. */
  get pausedUntilMs(): number {
    return this.#standing.pausedUntilMs;
  }

  /** What the upstream said last, as it said it. */
  get advertised(): NonNullable<Orders["advertised"]> {
    return this.#standing.advertised;
  }

  isYielding(nowMs: number): boolean {
    return nowMs < this.#standing.yieldUntilMs;
  }

  /** The cap of one rate now: lowered where the upstream advertised less than the config knows. */
  capOf(rate: Rate, configuredCap: number, nowMs: number): number {
    const requests = this.#standing.loweredTo(rate.perMs, nowMs);
    if (requests === undefined) return configuredCap;
    return Math.min(configuredCap, loweredCap(requests, this.#budget.share, 0));
  }

  heed(advice: Advice, nowMs: number): void {
    const orders = ordersOf(advice, this.#budget);
    this.#standing.carryOut(orders, longestWindowMs(this.#budget), this.#budget.maxPauseMs, nowMs);
  }
}

/** Never under one: else nobody would see the limit rise again. */
export function loweredCap(requests: number, share: number, aside: number): number {
  return Math.max(1, Math.floor(requests * share + 1e-9) - aside);
}
