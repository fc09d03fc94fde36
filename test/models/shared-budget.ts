/**
 * The rule of a shared budget, as the Lua scripts apply it in Redis. Tests compare the two, and simulated fleets use
 * this one. Why it keeps the limit: src/core/budget/leases.ts.
 *
 * A lease is stored with the latest moment at which its request may be counted, and ends one window after that. So
 * one list serves all windows, also those of a later config.
 *
 *      taken                          may be counted until here          ended
 *       |-- unusable from here |------------ hold ----------------|------- W -------|
 *                 settled: counted by now (+ linger)  |------- W -------|
 */

import { PACE_BURST_MS } from "../../src/core/budget/leases.ts";
import { capOf } from "../../src/core/config/config.ts";
import { CLOCK_RATE_MARGIN } from "../../src/core/time/clock.ts";
import { HOUR_MS } from "../../src/core/time/duration.ts";
import {
  CLOCK_STEP_MS,
  RESERVE_KEPT_MS,
  type UsageReport,
  type SharedMessage,
  type SharedRate,
  type SharedSettlement,
  type SharedState,
  type SharedTaking,
  type SharedTerms,
  type SharedWait,
} from "../../src/core/fleet/ledger-store.ts";
import { SharedSignals } from "./shared-signals.ts";

/** If the clock is set back by less than this, leases are only held for longer; by more, all of them are dropped. */
const SET_BACK_MS = 1_000;
/** What is set aside for a replica is written anew once an hour. */
const RESERVE_RENEWED_MS = 3_600_000;
/** Who was told to wait has not lost more than this if a settlement is late by less. */
const LATE_MS = 1_000;

/** The time in Redis, and which run of the server it is. */
export type RedisMoment = { readonly nowMs: number; readonly run: string };

type KnownReserve = {
  readonly untilMs: number;
  readonly rates: readonly Pick<SharedRate, "perMs" | "own">[];
};

export class SharedBudgetModel {
  #run = "";
  #bornMs = 0;
  #latestMs = 0;
  #keptMs = 0;
  #lingerMs = 0;
  #lastTakenMs: number | undefined;
  #freed = 0;
  readonly #leases = new SharedLeases();
  readonly #signals = new SharedSignals();
  readonly #quota = new Map<number, number>();
  readonly #contributed = new Map<string, string>();
  /** By replica: what it may send without asking. */
  readonly #reserves = new Map<string, KnownReserve>();

  /** What stands against a lease now. */
  waitFor(terms: SharedTerms, at: RedisMoment): SharedWait | undefined {
    this.#begin(terms, at, false);
    this.#leases.dropUntil(at.nowMs - this.#keptMs * CLOCK_RATE_MARGIN);
    const refusal = this.#refusal(terms, at.nowMs);
    return refusal && { budget: terms.budget, ...refusal };
  }

  /** Only where nothing stands against it. */
  grant(terms: SharedTerms, lease: string, { nowMs }: RedisMoment): void {
    this.#leases.put(lease, nowMs + terms.holdMs + CLOCK_STEP_MS);
    this.#lastTakenMs = this.#pacedFromMs(terms.rates, nowMs);
    this.#latestMs = nowMs;
    if (terms.quota !== undefined) this.#count(nowMs, 1);
  }

  state(terms: SharedTerms, { nowMs }: RedisMoment): SharedState {
    return this.#state(terms, nowMs);
  }

  report(terms: SharedTerms, messages: readonly SharedMessage[], at: RedisMoment): SharedState {
    this.#begin(terms, at, false);
    const { nowMs } = at;
    for (const message of messages) {
      if (message.kind === "settled") this.#settle(terms, message, message.agoMs, nowMs);
      else if (message.kind === "resumed") {
        if (message.agoMs <= LATE_MS) this.#signals.resume();
      } else {
        const { signals, agoMs } = message;
        this.#signals.apply(signals, longestOf(terms), terms.maxPauseMs, nowMs, nowMs - agoMs);
      }
    }
    return this.#state(terms, nowMs);
  }

  #settle(terms: SharedTerms, settled: SharedSettlement, agoMs: number, nowMs: number): void {
    if (settled.settlement === "unsent") {
      if (this.#leases.remove(settled.lease)) {
        this.#freed += 1;
        if (terms.quota !== undefined) this.#count(nowMs - agoMs - settled.heldMs, -1);
      }
    } else {
      const lingerMs = settled.settlement === "unanswered" ? terms.lingerMs : 0;
      this.#leases.put(settled.lease, nowMs - agoMs + lingerMs + CLOCK_STEP_MS);
      this.#leases.dropUntil(nowMs - this.#keptMs * CLOCK_RATE_MARGIN);
      if (agoMs > LATE_MS) this.#freed += 1;
    }
    this.#latestMs = nowMs;
  }

  look(terms: SharedTerms, isAnew: boolean, at: RedisMoment): SharedState {
    this.#begin(terms, at, isAnew);
    return this.#state(terms, at.nowMs);
  }

  reportUsage(terms: SharedTerms, { batch, byHour }: UsageReport, at: RedisMoment): SharedState {
    this.#begin(terms, at, false);
    if (this.#contributed.get(terms.replica) !== batch) {
      this.#contributed.set(terms.replica, batch);
      for (const [hour, requests] of byHour) this.#count(hour * HOUR_MS, requests);
    }
    return this.#state(terms, at.nowMs);
  }

  /** If it cannot know what was sent, it starts anew, and refuses until all of that no longer counts. */
  #begin(terms: SharedTerms, at: RedisMoment, isAnew: boolean): void {
    this.#startAnew(terms, at, isAnew);
    for (const [name, { untilMs }] of this.#reserves) if (untilMs <= at.nowMs) this.#reserves.delete(name);
    this.#tellReserve(terms, at.nowMs);
  }

  /** A reserve may grow at once, as its replica waits until it is set aside. What it gives back may have been sent. */
  #tellReserve(terms: SharedTerms, nowMs: number): void {
    const known = this.#reserves.get(terms.replica);
    const { rates } = terms;
    if (known !== undefined && rates.some(({ own, perMs }) => own < mostOf(known, perMs))) {
      const forgottenMs = (longestOf(terms) + terms.holdMs) * CLOCK_RATE_MARGIN + CLOCK_STEP_MS;
      const untilMs = Math.min(known.untilMs, nowMs + forgottenMs);
      this.#reserves.set(terms.replica, { ...known, untilMs });
      return;
    }
    const isKept =
      known !== undefined &&
      known.untilMs >= nowMs + RESERVE_KEPT_MS &&
      !rates.some(({ own, perMs }) => own > mostOf(known, perMs));
    if (isKept || !rates.some(({ own }) => own > 0)) return;
    this.#reserves.set(terms.replica, { untilMs: nowMs + RESERVE_KEPT_MS + RESERVE_RENEWED_MS, rates });
  }

  #startAnew(terms: SharedTerms, { nowMs, run }: RedisMoment, isAnew: boolean): void {
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
    this.#signals.shortenTo(windows, terms.maxPauseMs, nowMs);
  }

  #refusal(
    terms: SharedTerms,
    nowMs: number,
  ): { readonly waitMs: number; readonly cause: "budget" | "backoff" | "quota" | "ledger" } | undefined {
    const { pausedUntilMs } = this.#signals;
    if (pausedUntilMs > nowMs) return { waitMs: pausedUntilMs - nowMs, cause: "backoff" };
    if (terms.quota !== undefined && this.#quotaUsed(terms, nowMs) >= terms.quota.requests) {
      return { waitMs: Math.min(...terms.rates.map((rate) => rate.perMs)), cause: "quota" };
    }
    const coldMs = this.#coldMs(terms, nowMs);
    if (coldMs > 0) return { waitMs: coldMs, cause: "ledger" };
    // Other replicas' reserves may leave nothing.
    const used = terms.rates.find((rate) => this.#capOf(rate, terms.share, nowMs) < 1);
    if (used !== undefined) return { waitMs: used.perMs * CLOCK_RATE_MARGIN, cause: "budget" };
    const freeAtMs = this.#freeAtMs(terms, nowMs);
    return freeAtMs > nowMs ? { waitMs: freeAtMs - nowMs, cause: "budget" } : undefined;
  }

  #freeAtMs(terms: SharedTerms, nowMs: number): number {
    let untilMs = nowMs;
    for (const rate of terms.rates) {
      const cap = this.#capOf(rate, terms.share, nowMs);
      const windowMs = rate.perMs * CLOCK_RATE_MARGIN;
      if (this.#lastTakenMs !== undefined) untilMs = Math.max(untilMs, this.#lastTakenMs + rate.perMs / cap);
      // A request in flight may be settled now, and is then held for a whole window.
      const endsMs = (this.#leases.latest(cap) ?? Number.NEGATIVE_INFINITY) + windowMs;
      untilMs = Math.max(untilMs, Math.min(endsMs, nowMs + windowMs));
    }
    return untilMs;
  }

  #capOf(rate: SharedRate, share: number, nowMs: number): number {
    // Replicas of another config may have larger reserves. With one config, they are what is set aside anyhow.
    let known = 0;
    for (const reserve of this.#reserves.values()) known += mostOf(reserve, rate.perMs);
    const aside = Math.max(rate.aside, known);
    const most = Math.max(0, rate.cap + rate.aside - aside);
    const requests = this.#signals.loweredTo(rate.perMs, nowMs);
    return requests === undefined ? most : Math.min(most, Math.max(1, capOf({ requests }, share) - aside));
  }

  #coldMs(terms: SharedTerms, nowMs: number): number {
    const forgottenMs = (longestOf(terms) + terms.holdMs) * CLOCK_RATE_MARGIN + CLOCK_STEP_MS;
    return Math.max(0, this.#bornMs + forgottenMs - nowMs);
  }

  /** The next gap counts from here: from when this one was due, at most so much earlier than now. */
  #pacedFromMs(rates: readonly SharedRate[], nowMs: number): number {
    const gapMs = Math.max(...rates.map((rate) => rate.perMs / rate.cap));
    if (this.#lastTakenMs === undefined) return nowMs;
    return Math.max(this.#lastTakenMs + gapMs, nowMs - PACE_BURST_MS);
  }

  #count(atMs: number, amount: number): void {
    const hour = Math.floor(atMs / HOUR_MS);
    this.#quota.set(hour, Math.max(0, (this.#quota.get(hour) ?? 0) + amount));
  }

  #quotaUsed({ quota }: SharedTerms, nowMs: number): number {
    if (quota === undefined) return 0;
    const oldestHour = Math.floor((nowMs - quota.perMs) / HOUR_MS);
    let used = 0;
    for (const [hour, requests] of this.#quota) {
      if (hour < oldestHour) this.#quota.delete(hour);
      else used += requests;
    }
    return used;
  }

  #state(terms: SharedTerms, nowMs: number): SharedState {
    const { limit, remaining } = this.#signals.advertised;
    const reserve = this.#reserves.get(terms.replica);
    const isKept = reserve !== undefined && reserve.untilMs >= nowMs + RESERVE_KEPT_MS;
    return {
      nowMs,
      epoch: `${this.#run}-${this.#bornMs}`,
      coldMs: this.#coldMs(terms, nowMs),
      caps: terms.rates.map((rate) => this.#capOf(rate, terms.share, nowMs)),
      leases: terms.rates.map((rate) => this.#leases.countAfter(nowMs - rate.perMs * CLOCK_RATE_MARGIN)),
      reserved: terms.rates.map(({ perMs }) => (isKept ? mostOf(reserve, perMs) : 0)),
      pausedMs: Math.max(0, this.#signals.pausedUntilMs - nowMs),
      yieldMs: Math.max(0, this.#signals.yieldUntilMs - nowMs),
      advertisedLimit: limit,
      advertisedRemaining: remaining,
      quotaUsed: this.#quotaUsed(terms, nowMs),
      hasReported: this.#contributed.has(terms.replica),
      freed: this.#freed,
      refusals: this.#signals.refusals,
    };
  }
}

type Asked = Pick<SharedBudgetModel, "waitFor" | "grant" | "state">;

/** A lease of each budget in one step, or of none. */
export function takeOfEach(
  terms: readonly SharedTerms[],
  budgetOf: (terms: SharedTerms) => Asked,
  lease: string,
  at: RedisMoment,
): SharedTaking {
  const asked = terms.map((each) => ({ terms: each, budget: budgetOf(each) }));
  const waits = asked.map((each) => each.budget.waitFor(each.terms, at)).filter((wait) => wait !== undefined);
  if (waits.length === 0) for (const each of asked) each.budget.grant(each.terms, lease, at);
  return { states: asked.map((each) => each.budget.state(each.terms, at)), waits };
}

/** The most that a reserve may send in any window of a length. */
function mostOf({ rates }: KnownReserve, perMs: number): number {
  return Math.min(...rates.map((rate) => rate.own * Math.ceil(perMs / rate.perMs)));
}

function longestOf(terms: SharedTerms): number {
  return Math.max(...terms.rates.map((rate) => rate.perMs));
}

/** Leases by the latest moment at which their request may be counted, soonest first; each once. */
class SharedLeases {
  #byName = new Map<string, number>();
  #times: number[] = [];

  put(lease: string, countedByMs: number): void {
    this.remove(lease);
    this.#byName.set(lease, countedByMs);
    this.#times.splice(this.#firstAfter(countedByMs), 0, countedByMs);
  }

  remove(lease: string): boolean {
    const countedByMs = this.#byName.get(lease);
    if (countedByMs === undefined) return false;
    this.#byName.delete(lease);
    this.#times.splice(this.#firstAfter(countedByMs) - 1, 1);
    return true;
  }

  clear(): void {
    this.#byName.clear();
    this.#times = [];
  }

  dropUntil(atMs: number): void {
    const ended = this.#firstAfter(atMs);
    if (ended === 0) return;
    this.#times.splice(0, ended);
    for (const [lease, countedByMs] of this.#byName) if (countedByMs <= atMs) this.#byName.delete(lease);
  }

  /** The n-th from the end; undefined if there are fewer. */
  latest(n: number): number | undefined {
    return this.#times[this.#times.length - n];
  }

  countAfter(atMs: number): number {
    return this.#times.length - this.#firstAfter(atMs);
  }

  #firstAfter(atMs: number): number {
    let low = 0;
    let high = this.#times.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#times[middle] ?? 0) <= atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
