/**
 * The rule of a budget that replicas share, as its keeper carries it out: in Lua on the real Redis, here for the tests
 * that hold the two against each other, and for whole fleets in virtual time.
 *
 * A lease is held by the latest moment at which its request may be counted; for any window it ends that window later.
 * So one list serves all windows, also those that a later config brings.
 *
 *      taken                          may be counted until here          ended
 *       |-- unusable from here |------------ hold ----------------|------- W -------|
 *                 settled: counted by now (+ linger)  |------- W -------|
 */

import { CLOCK_STEP_MS } from "../../src/core/fleet/shared-terms.ts";
import { CLOCK_RATE_MARGIN, PACE_GRAIN_MS } from "../../src/core/budget/leases.ts";
import type { Orders } from "../../src/core/budget/orders.ts";
import { QUOTA_BUCKET_MS } from "../../src/core/budget/quota.ts";
import { loweredCap } from "../../src/core/budget/restraint.ts";
import { SharedLeases } from "./shared-leases.ts";
import type {
  UsageReport,
  SharedRate,
  SharedSettlement,
  SharedStanding,
  SharedTaking,
  SharedTerms,
} from "../../src/core/fleet/shared-terms.ts";
import { StandingOrders } from "../../src/core/budget/standing-orders.ts";

/** Set back by less than this, it only holds leases for longer; by more, they are better forgotten. */
const SET_BACK_MS = 1_000;

/** When and in which life of the keeper it was asked. */
export type KeeperMoment = { readonly nowMs: number; readonly run: string };

export class SharedBudget {
  #run = "";
  #bornMs = 0;
  #latestMs = 0;
  #keptMs = 0;
  #lingerMs = 0;
  #lastTakenMs: number | undefined;
  #freed = 0;
  readonly #leases = new SharedLeases();
  readonly #orders = new StandingOrders();
  readonly #quota = new Map<number, number>();
  readonly #contributed = new Map<string, string>();

  take(terms: SharedTerms, lease: string, at: KeeperMoment): SharedTaking {
    this.#begin(terms, at, false);
    const { nowMs } = at;
    this.#leases.dropUntil(nowMs - this.#keptMs * CLOCK_RATE_MARGIN);
    const refusal = this.#refusal(terms, nowMs);
    if (refusal !== undefined) {
      return { ...this.#standing(terms, nowMs), decision: { kind: "wait", ...refusal } };
    }
    this.#leases.put(lease, nowMs + terms.holdMs + CLOCK_STEP_MS);
    this.#lastTakenMs = this.#pacedFromMs(terms.rates, nowMs);
    this.#latestMs = nowMs;
    if (terms.quota !== undefined) this.#count(nowMs, 1);
    return { ...this.#standing(terms, nowMs), decision: { kind: "granted" } };
  }

  settle(terms: SharedTerms, settled: SharedSettlement, agoMs: number, at: KeeperMoment): SharedStanding {
    this.#begin(terms, at, false);
    const { nowMs } = at;
    if (settled.settlement === "unsent") {
      if (this.#leases.remove(settled.lease)) {
        this.#freed += 1;
        if (terms.quota !== undefined) this.#count(nowMs - agoMs - settled.heldMs, -1);
      }
    } else {
      const lingerMs = settled.settlement === "unanswered" ? terms.lingerMs : 0;
      this.#leases.put(settled.lease, nowMs - agoMs + lingerMs + CLOCK_STEP_MS);
      this.#leases.dropUntil(nowMs - this.#keptMs * CLOCK_RATE_MARGIN);
      if (agoMs > 0) this.#freed += 1;
    }
    this.#latestMs = nowMs;
    return this.#standing(terms, nowMs);
  }

  heed(terms: SharedTerms, orders: Orders, agoMs: number, at: KeeperMoment): SharedStanding {
    this.#begin(terms, at, false);
    this.#orders.carryOut(orders, longestOf(terms), terms.maxPauseMs, at.nowMs, at.nowMs - agoMs);
    return this.#standing(terms, at.nowMs);
  }

  look(terms: SharedTerms, isAnew: boolean, at: KeeperMoment): SharedStanding {
    this.#begin(terms, at, isAnew);
    return this.#standing(terms, at.nowMs);
  }

  reportUsage(terms: SharedTerms, { batch, byHour }: UsageReport, at: KeeperMoment): SharedStanding {
    this.#begin(terms, at, false);
    if (this.#contributed.get(terms.replica) !== batch) {
      this.#contributed.set(terms.replica, batch);
      for (const [hour, requests] of byHour) this.#count(hour * QUOTA_BUCKET_MS, requests);
    }
    return this.#standing(terms, at.nowMs);
  }

  /** Where it cannot know what was sent, it begins anew, and refuses until all of that is forgotten. */
  #begin(terms: SharedTerms, { nowMs, run }: KeeperMoment, isAnew: boolean): void {
    const longestMs = longestOf(terms);
    const isKnown =
      !isAnew &&
      run === this.#run &&
      nowMs >= this.#latestMs - SET_BACK_MS &&
      longestMs <= this.#keptMs &&
      terms.lingerMs <= this.#lingerMs;
    if (isKnown) return;
    this.#run = run;
    this.#bornMs = this.#latestMs = nowMs;
    this.#keptMs = Math.max(this.#keptMs, longestMs);
    this.#lingerMs = Math.max(this.#lingerMs, terms.lingerMs);
    this.#lastTakenMs = undefined;
    this.#leases.clear();
    const windows = terms.rates.map((rate) => rate.perMs);
    this.#orders.cut(windows, terms.maxPauseMs, nowMs);
  }

  #refusal(
    terms: SharedTerms,
    nowMs: number,
  ): { readonly waitMs: number; readonly cause: "budget" | "backoff" | "quota" | "ledger" } | undefined {
    const { pausedUntilMs } = this.#orders;
    if (pausedUntilMs > nowMs) return { waitMs: pausedUntilMs - nowMs, cause: "backoff" };
    if (terms.quota !== undefined && this.#quotaUsed(terms, nowMs) >= terms.quota.requests) {
      return { waitMs: Math.min(...terms.rates.map((rate) => rate.perMs)), cause: "quota" };
    }
    const coldMs = this.#coldMs(terms, nowMs);
    if (coldMs > 0) return { waitMs: coldMs, cause: "ledger" };
    const freeAtMs = this.#freeAtMs(terms, nowMs);
    return freeAtMs > nowMs ? { waitMs: freeAtMs - nowMs, cause: "budget" } : undefined;
  }

  #freeAtMs(terms: SharedTerms, nowMs: number): number {
    let untilMs = nowMs;
    for (const rate of terms.rates) {
      const cap = this.#capOf(rate, terms.share, nowMs);
      const windowMs = rate.perMs * CLOCK_RATE_MARGIN;
      if (this.#lastTakenMs !== undefined) untilMs = Math.max(untilMs, this.#lastTakenMs + rate.perMs / cap);
      // One that is still on its way may be settled now, and is then held for a whole window.
      const endsMs = (this.#leases.latest(cap) ?? Number.NEGATIVE_INFINITY) + windowMs;
      untilMs = Math.max(untilMs, Math.min(endsMs, nowMs + windowMs));
    }
    return untilMs;
  }

  #capOf(rate: SharedRate, share: number, nowMs: number): number {
    const requests = this.#orders.loweredTo(rate.perMs, nowMs);
    return requests === undefined ? rate.cap : Math.min(rate.cap, loweredCap(requests, share, rate.aside));
  }

  #coldMs(terms: SharedTerms, nowMs: number): number {
    const forgottenMs = (longestOf(terms) + terms.holdMs) * CLOCK_RATE_MARGIN + CLOCK_STEP_MS;
    return Math.max(0, this.#bornMs + forgottenMs - nowMs);
  }

  /** The moment from which the next gap counts: now, or a little earlier where timers are too coarse for the gap. */
  #pacedFromMs(rates: readonly SharedRate[], nowMs: number): number {
    const gapMs = Math.max(...rates.map((rate) => rate.perMs / rate.cap));
    if (gapMs >= PACE_GRAIN_MS || this.#lastTakenMs === undefined) return nowMs;
    return Math.max(this.#lastTakenMs + gapMs, nowMs - PACE_GRAIN_MS);
  }

  #count(atMs: number, amount: number): void {
    const hour = Math.floor(atMs / QUOTA_BUCKET_MS);
    this.#quota.set(hour, Math.max(0, (this.#quota.get(hour) ?? 0) + amount));
  }

  #quotaUsed({ quota }: SharedTerms, nowMs: number): number {
    if (quota === undefined) return 0;
    const oldestHour = Math.floor((nowMs - quota.perMs) / QUOTA_BUCKET_MS);
    let used = 0;
    for (const [hour, requests] of this.#quota) {
      if (hour < oldestHour) this.#quota.delete(hour);
      else used += requests;
    }
    return used;
  }

  #standing(terms: SharedTerms, nowMs: number): SharedStanding {
    const { limit, remaining } = this.#orders.advertised;
    return {
      nowMs,
      epoch: `${this.#run}-${this.#bornMs}`,
      coldMs: this.#coldMs(terms, nowMs),
      caps: terms.rates.map((rate) => this.#capOf(rate, terms.share, nowMs)),
      leases: terms.rates.map((rate) => this.#leases.countAfter(nowMs - rate.perMs * CLOCK_RATE_MARGIN)),
      pausedMs: Math.max(0, this.#orders.pausedUntilMs - nowMs),
      yieldMs: Math.max(0, this.#orders.yieldUntilMs - nowMs),
      advertisedLimit: limit,
      advertisedRemaining: remaining,
      quotaUsed: this.#quotaUsed(terms, nowMs),
      hasReported: this.#contributed.has(terms.replica),
      freed: this.#freed,
    };
  }
}

function longestOf(terms: SharedTerms): number {
  return Math.max(...terms.rates.map((rate) => rate.perMs));
}
