/** Upstream signals hold a budget back: by pauses, back-off, lowered limits, yielding to production. */

import type { Advice } from "../advice/advice.ts";
import { limitsOf } from "../advice/limits.ts";
import { type Budget, capOf, type Rate } from "../config/config.ts";
import type { SkipCause } from "../exchange/outcome.ts";
import type { BudgetRestraint } from "./ledger.ts";
import { type KnownLimit, LearnedWindows } from "./learned-windows.ts";
import type { Held, Lowered } from "./record.ts";
import { longestRateOf, type Needs, signalsOf, type UpstreamSignals } from "./signals.ts";

/** While yielding to production, one slot in this many is used. */
export const YIELD_KEEPS_ONE_IN = 4;
/** So many different limits of one window are kept at once. Further ones are merged into the strictest of them. */
const MOST_LIMITS = 8;
const MOST_DOUBLINGS = 30;
/** So many limits are shown at once. */
const MOST_KNOWN = 16;

export class Restraint {
  #budget: Budget;
  #needs: Needs;
  /** Both are made when an answer speaks of a limit: most budgets never need them. */
  #windows: LearnedWindows | undefined;
  #limits: Map<string, KnownLimit> | undefined;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  readonly active: ActiveSignals = new ActiveSignals();

  constructor(budget: Budget, needs: Needs = () => 0) {
    this.#budget = budget;
    this.#needs = needs;
  }

  change(budget: Budget, needs: Needs): void {
    this.#budget = budget;
    this.#needs = needs;
    this.active.keepWindows(new Set(budget.rates.map((rate) => rate.perMs)));
  }

  isYielding(nowMs: number): boolean {
    return nowMs < this.active.yieldUntilMs;
  }

  /** The cap of one rate now: lower if the upstream advertised less than the config says. */
  capOf(rate: Rate, configuredCap: number, nowMs: number): number {
    const requests = this.active.loweredTo(rate.perMs, nowMs);
    if (requests === undefined) return configuredCap;
    // Never under one: with none, nobody would see the limit rise again.
    return Math.min(configuredCap, Math.max(1, capOf({ requests }, this.#budget.share)));
  }

  /** Each limit is shown as it was advertised last, with what is known of its window. */
  get limits(): readonly KnownLimit[] {
    return [...(this.#limits?.values() ?? [])];
  }

  get held(): Omit<Held, "untold"> {
    return {
      ...this.active.held,
      refusedUntilMs: this.#refusedAtMs + this.#budget.maxPauseMs,
      windows: this.#windows?.all ?? [],
    };
  }

  /** Of an earlier process, or of another budget of the same upstreams: what is stricter counts. */
  adopt(held: Held): void {
    this.active.adopt(held);
    this.#refusedAtMs = Math.max(this.#refusedAtMs, held.refusedUntilMs - this.#budget.maxPauseMs);
    if (this.#windows === undefined && held.windows.length > 0)
      this.#windows = new LearnedWindows(held.windows);
  }

  /** `inFlight`: so many other requests have no answer yet. Returns what was applied. */
  applyAdvice(advice: Advice, nowMs: number, inFlight = 0): UpstreamSignals {
    // Most answers say nothing, so it costs nothing.
    if (isSilent(advice)) {
      this.active.apply(NO_SIGNALS, 0, 0, nowMs, inFlight);
      return NO_SIGNALS;
    }
    if (advice.throttled) this.#refusedAtMs = nowMs;
    const known = (this.#windows ??= new LearnedWindows()).read(advice.families, nowMs);
    this.#show(known);
    const isLearned = ({ windowFrom }: KnownLimit): boolean =>
      windowFrom !== undefined && windowFrom !== "told";
    const learned = advice.isOfOneResource === true ? [] : known.filter(isLearned);
    // Whoever refuses us means it: then no need of ours counts.
    const isRefused = nowMs < this.#refusedAtMs + this.#budget.maxPauseMs;
    const needs: Needs = isRefused ? () => 0 : this.#needs;
    const limits = [...advice.limits, ...limitsOf(learned)];
    const signals = signalsOf({ ...advice, limits }, this.#budget, needs);
    const windowMs = longestRateOf(this.#budget).perMs;
    this.active.apply(signals, windowMs, this.#budget.maxPauseMs, nowMs, inFlight);
    return signals;
  }

  #show(known: readonly KnownLimit[]): void {
    const limits = (this.#limits ??= new Map());
    for (const limit of known) {
      const key = `${limit.key} ${limit.resource ?? ""}`;
      limits.delete(key);
      limits.set(key, limit);
    }
    for (const key of limits.keys()) {
      if (limits.size <= MOST_KNOWN) break;
      limits.delete(key);
    }
  }
}

const NO_SIGNALS: UpstreamSignals = {
  isThrottled: false,
  pauseMs: 0,
  lowered: [],
  advertised: undefined,
  yieldMs: undefined,
};

/** It refuses nothing and speaks of no limit. */
function isSilent({ throttled, pause, families, limits, remaining }: Advice): boolean {
  const says = throttled || pause !== undefined || remaining !== undefined;
  return !says && families.length === 0 && limits.length === 0;
}

type Advertised = NonNullable<UpstreamSignals["advertised"]>;

/** The signals that are in force for one budget. They only tighten, until they expire. */
class ActiveSignals {
  #pausedUntilMs = 0;
  #yieldUntilMs = 0;
  #advertised: Advertised = { limit: undefined, remaining: undefined };
  /** Requests that may be sent until the upstream says again how many are left; infinite if it never did. */
  #left = Infinity;
  #leftUntilMs = 0;
  #hintlessRefusals = 0;
  /** By window; the strictest limit comes first and ends first. Undefined until a limit is lowered. */
  #lowered: Map<number, readonly Lowered[]> | undefined;

  /** It lies in the past if there is no pause. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  get yieldUntilMs(): number {
    return this.#yieldUntilMs;
  }

  /** The page shows the upstream's last word, unchanged. */
  get advertised(): Advertised {
    return this.#advertised;
  }

  /** Those who are on their way use up what was left; until then, nothing more is sent. */
  usedUpUntilMs(nowMs: number): number {
    return this.#left <= 0 ? this.#leftUntilMs : nowMs;
  }

  /** Negative for those that were not sent after all. */
  sent(requests: number): void {
    this.#left -= requests;
  }

  /** Only the strictest limit in force counts in a window. */
  loweredTo(perMs: number, nowMs: number): number | undefined {
    return this.#lowered?.get(perMs)?.find((lowered) => nowMs < lowered.untilMs)?.requests;
  }

  get held(): Pick<Held, "pausedUntilMs" | "yieldUntilMs" | "refusals" | "lowered"> {
    return {
      pausedUntilMs: this.#pausedUntilMs,
      yieldUntilMs: this.#yieldUntilMs,
      refusals: this.#hintlessRefusals,
      lowered: [...(this.#lowered?.values() ?? [])].flatMap(([strictest, ...others]) => {
        const last = others.at(-1) ?? strictest;
        return strictest === undefined || last === undefined ? [] : [{ ...strictest, untilMs: last.untilMs }];
      }),
    };
  }

  adopt({ pausedUntilMs, yieldUntilMs, refusals, lowered }: Held): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, pausedUntilMs);
    this.#yieldUntilMs = Math.max(this.#yieldUntilMs, yieldUntilMs);
    this.#hintlessRefusals = Math.min(Math.max(this.#hintlessRefusals, refusals), MOST_DOUBLINGS);
    for (const limit of lowered) {
      const limits = (this.#lowered ??= new Map<number, readonly Lowered[]>());
      const known = limits.get(limit.perMs) ?? [];
      const requests = Math.min(limit.requests, ...known.map((each) => each.requests));
      const untilMs = Math.max(limit.untilMs, ...known.map((each) => each.untilMs));
      limits.set(limit.perMs, [{ ...limit, requests, untilMs }]);
    }
  }

  keepWindows(windows: ReadonlySet<number>): void {
    for (const perMs of this.#lowered?.keys() ?? []) if (!windows.has(perMs)) this.#lowered?.delete(perMs);
  }

  apply(
    signals: UpstreamSignals,
    longestWindowMs: number,
    maxPauseMs: number,
    nowMs: number,
    inFlight: number,
  ): void {
    this.#applyPause(signals, longestWindowMs, maxPauseMs, nowMs);
    for (const { perMs, requests } of signals.lowered) this.#lower(perMs, requests, nowMs);
    const { advertised, yieldMs } = signals;
    if (advertised !== undefined) this.#advertise(advertised, inFlight, nowMs);
    if (yieldMs !== undefined) this.#yieldUntilMs = yieldMs > 0 ? nowMs + yieldMs : 0;
  }

  /** By the operator's word: what the upstream asked for no longer holds us back. Lowered limits and leases stay. */
  resume(): void {
    this.#pausedUntilMs = 0;
    this.#yieldUntilMs = 0;
    this.#leftUntilMs = 0;
    this.#hintlessRefusals = 0;
  }

  /** The upstream may not have counted those who are on their way. None left is a pause, which is applied as such. */
  #advertise(advertised: Advertised, inFlight: number, nowMs: number): void {
    const { limit, remaining = 0, remainingForMs = 0 } = advertised;
    this.#advertised = { limit, remaining: advertised.remaining };
    this.#left = remaining > 0 ? remaining - inFlight : Infinity;
    this.#leftUntilMs = nowMs + remainingForMs;
  }

  #applyPause(signals: UpstreamSignals, longestWindowMs: number, maxPauseMs: number, nowMs: number): void {
    if (signals.pauseMs > 0) this.#pause(signals.pauseMs, maxPauseMs, nowMs);
    // An answer during a pause belongs to the burst that caused it: it neither doubles the pause nor ends the count.
    if (nowMs < this.#pausedUntilMs) return;
    if (!signals.isThrottled) {
      this.#hintlessRefusals = 0;
    } else if (signals.pauseMs <= 0) {
      this.#pause(longestWindowMs * 2 ** this.#hintlessRefusals, maxPauseMs, nowMs);
      this.#hintlessRefusals = Math.min(this.#hintlessRefusals + 1, MOST_DOUBLINGS);
    }
  }

  #pause(forMs: number, maxPauseMs: number, nowMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + Math.min(forMs, maxPauseMs));
  }

  /** What was said last ends last, so of what was said before only stricter limits still count. */
  #lower(perMs: number, requests: number, nowMs: number): void {
    const stricter = (this.#lowered?.get(perMs) ?? []).filter(
      (limit) => nowMs < limit.untilMs && limit.requests < requests,
    );
    const last = stricter[MOST_LIMITS - 1];
    const added = { perMs, requests: last?.requests ?? requests, untilMs: nowMs + perMs };
    (this.#lowered ??= new Map()).set(perMs, [...stricter.slice(0, MOST_LIMITS - 1), added]);
  }
}

export type Screening = {
  readonly skip: Extract<SkipCause, "backoff" | "yield" | "quota"> | undefined;
  /** Slots in a row that were skipped by yielding. Passed in again at the next slot. */
  readonly yielded: number;
};

/** Decides whether a slot is used at all, before anyone waits for a lease. */
export function screenSlot(
  restraint: BudgetRestraint,
  upstreamPausedUntilMs: number,
  yielded: number,
  nowMs: number,
): Screening {
  if (restraint.pausedUntilMs > nowMs || upstreamPausedUntilMs > nowMs) return { skip: "backoff", yielded };
  if (restraint.isQuotaSpent) return { skip: "quota", yielded };
  if (restraint.isYielding && yielded < YIELD_KEEPS_ONE_IN - 1)
    return { skip: "yield", yielded: yielded + 1 };
  return { skip: undefined, yielded: 0 };
}
