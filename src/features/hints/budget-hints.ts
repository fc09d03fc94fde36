/** Answers hold a budget back: by pauses, back-off, lowered limits, yielding to production. */

import type { AnswerHints } from "./fields/answer-hints.ts";
import { type AdvertisedLimit, limitsOf } from "./fields/limits.ts";
import type { Budget, Rate } from "../../kernel/config/config.ts";
import { capOf, partOf } from "../../kernel/config/part.ts";
import type { Granted, Settlement } from "../../kernel/budget/ledger.ts";
import type { Needs } from "../../kernel/budget/needs.ts";
import { keepNewest } from "../../platform/remembered.ts";
import type { Moment } from "../../kernel/time/moment.ts";
import type { Why } from "./concern.ts";
import { type KnownLimit, LearnedWindows } from "./learned-windows.ts";
import type { Held, Lowered } from "./record.ts";
import { longestRateOf, loweredBy, yieldMsOf } from "./signals.ts";
import { tellsLimit, UnadvertisedLimit } from "./unadvertised-limit.ts";

/** So many different limits of one window are kept at once. Further ones are merged into the strictest of them. */
const MOST_LIMITS = 8;
const MOST_DOUBLINGS = 30;
/** So many limits are shown at once. */
const MOST_KNOWN = 16;

/** How a budget is held back, for people. */
export type HintsStatus = {
  readonly advertisedLimit: number | undefined;
  readonly advertisedRemaining: number | undefined;
  /** The upstream said this last of each of its limits, whatever they count. */
  readonly advertisedLimits: readonly KnownLimit[];
  /** 0 when it is not paused. */
  readonly pausedUntilWallMs: number;
  /** Why the last refusal, or pause, was taken for one of this budget, where it could have been another's. */
  readonly refusedWhy: Why | undefined;
};

/** The signals that are in force for one budget. They only tighten, until they expire. */
export class BudgetHints implements Granted {
  budget: Budget;
  needs: Needs;
  /** It lies in the past if there is no pause. */
  pausedUntilMs = 0;
  #yieldUntilMs = 0;
  /** The page shows the upstream's last word, unchanged. */
  advertised: { readonly limit?: number | undefined; readonly remaining?: number | undefined } = {};
  /** Requests that may be sent until the upstream says again how many are left; infinite if it never did. */
  #left = Infinity;
  #leftUntilMs = 0;
  #hintlessRefusals = 0;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  /** These are made when an answer speaks of a limit: most budgets never need them. */
  #windows: LearnedWindows | undefined;
  #limits: Map<string, KnownLimit> | undefined;
  /** By window; the strictest limit comes first and ends first. */
  #lowered: Map<number, readonly Lowered[]> | undefined;
  readonly #unadvertised: UnadvertisedLimit = new UnadvertisedLimit();
  #refusedWhy: Why | undefined;
  /** By the more specific budget for whose limit the refusal was taken. Most budgets have no such parts. */
  #partsRefusedAtMs: Map<string, number> | undefined;

  constructor(budget: Budget, needs: Needs = () => 0) {
    this.budget = budget;
    this.needs = needs;
  }

  change(budget: Budget, needs: Needs): void {
    this.budget = budget;
    this.needs = needs;
    const windows = new Set(budget.rates.map((rate) => rate.perMs));
    for (const perMs of this.#lowered?.keys() ?? []) if (!windows.has(perMs)) this.#lowered?.delete(perMs);
  }

  isYielding(nowMs: number): boolean {
    return nowMs < this.#yieldUntilMs;
  }

  /** Those who are on their way use up what was left; until then, nothing more is sent. */
  usedUpUntilMs(nowMs: number): number {
    return this.#left <= 0 ? this.#leftUntilMs : nowMs;
  }

  /** One more request is on its way. */
  granted(): Granted {
    this.#left -= 1;
    return this;
  }

  settle(settlement: Settlement): void {
    if (settlement === "unsent") this.#left += 1;
  }

  /** The cap of one rate now: lower if the upstream advertised less than the config says, or refused as much. */
  capOf(rate: Rate, configuredCap: number, nowMs: number): number {
    // Only the strictest limit in force counts in a window.
    const lowered = this.#lowered?.get(rate.perMs)?.find(({ untilMs }) => nowMs < untilMs);
    // Never under one: with none, nobody would see the limit rise again.
    const cap =
      lowered === undefined
        ? configuredCap
        : Math.min(configuredCap, Math.max(1, capOf(lowered.requests, this.budget)));
    return this.#unadvertised.capOf(rate, cap, this.budget, nowMs);
  }

  /** Each limit is shown as it was advertised last, with what is known of its window. */
  get limits(): readonly KnownLimit[] {
    return [...(this.#limits?.values() ?? [])];
  }

  status({ nowMs, wallMs }: Moment): HintsStatus {
    const pauseMs = this.pausedUntilMs - nowMs;
    return {
      advertisedLimit: this.advertised.limit,
      advertisedRemaining: this.advertised.remaining,
      advertisedLimits: [...this.limits, ...this.#unadvertised.known],
      pausedUntilWallMs: pauseMs > 0 ? wallMs + pauseMs : 0,
      refusedWhy: this.#refusedWhy,
    };
  }

  /** The next process needs to know nothing of it. Asked with each answer: most budgets are free. */
  isFree(nowMs: number): boolean {
    return (
      Math.max(this.pausedUntilMs, this.#yieldUntilMs, this.#refusedAtMs + this.budget.maxPauseMs) <= nowMs &&
      this.#hintlessRefusals === 0 &&
      this.#lowered === undefined &&
      this.#windows === undefined &&
      this.#unadvertised.known.length === 0
    );
  }

  get held(): Held {
    return {
      pausedUntilMs: this.pausedUntilMs,
      yieldUntilMs: this.#yieldUntilMs,
      refusals: this.#hintlessRefusals,
      refusedUntilMs: this.#refusedAtMs + this.budget.maxPauseMs,
      lowered: [...(this.#lowered?.values() ?? [])].flatMap(([strictest, ...others]) => {
        const last = others.at(-1) ?? strictest;
        return strictest === undefined || last === undefined ? [] : [{ ...strictest, untilMs: last.untilMs }];
      }),
      unadvertised: this.#unadvertised.held(this.budget.maxPauseMs),
      windows: this.#windows?.all ?? [],
    };
  }

  /** It comes from an earlier process, or another budget of the same upstreams: the stricter counts. */
  adopt(held: Held): void {
    this.pausedUntilMs = Math.max(this.pausedUntilMs, held.pausedUntilMs);
    this.#yieldUntilMs = Math.max(this.#yieldUntilMs, held.yieldUntilMs);
    this.#hintlessRefusals = Math.min(Math.max(this.#hintlessRefusals, held.refusals), MOST_DOUBLINGS);
    this.#refusedAtMs = Math.max(this.#refusedAtMs, held.refusedUntilMs - this.budget.maxPauseMs);
    for (const limit of held.lowered) {
      const limits = (this.#lowered ??= new Map<number, readonly Lowered[]>());
      const known = limits.get(limit.perMs) ?? [];
      const requests = Math.min(limit.requests, ...known.map((each) => each.requests));
      const untilMs = Math.max(limit.untilMs, ...known.map((each) => each.untilMs));
      limits.set(limit.perMs, [{ ...limit, requests, untilMs }]);
    }
    if (this.#windows === undefined && held.windows.length > 0)
      this.#windows = new LearnedWindows(held.windows);
    if (held.unadvertised !== undefined) this.#unadvertised.adopt(held.unadvertised, this.budget.maxPauseMs);
  }

  /** By the operator's word: what the upstream asked for no longer holds us back. Lowered limits and leases stay. */
  resume(): void {
    this.pausedUntilMs = 0;
    this.#yieldUntilMs = 0;
    this.#leftUntilMs = 0;
    this.#hintlessRefusals = 0;
  }

  /** The upstream draws on no other budget, so it can only be this one's limit that a refusal is about. */
  heardAlone(answerHints: AnswerHints, nowMs: number, inFlight: number): void {
    const isPaused = nowMs < this.pausedUntilMs;
    const rate = longestRateOf(this.budget);
    const cap = this.capOf(rate, capOf(rate.requests, this.budget), nowMs);
    this.apply(answerHints, nowMs, inFlight);
    const { throttled, pause } = answerHints;
    if (throttled || pause?.scope === "budget") this.#refusedWhy = undefined;
    if (throttled && tellsLimit(answerHints, this.limits)) return;
    this.#unadvertised.heard(answerHints, this, cap, isPaused, nowMs);
  }

  /** A refusal was taken for one of this budget, though it could be another's. So nothing is learned of a limit that is not told. */
  refused(why: Why | undefined): void {
    this.#refusedWhy = why;
  }

  /** A part of it is refused: whether another part was, within its longest window. */
  isRefusedElsewhere(part: string, nowMs: number): boolean {
    const refusedAtMs = (this.#partsRefusedAtMs ??= new Map());
    const fromMs = nowMs - longestRateOf(this.budget).perMs;
    for (const [name, atMs] of refusedAtMs) if (atMs < fromMs) refusedAtMs.delete(name);
    refusedAtMs.set(part, nowMs);
    return refusedAtMs.size > 1;
  }

  /** `inFlight`: so many other requests have no answer yet. */
  apply(answerHints: AnswerHints, nowMs: number, inFlight = 0): void {
    if (answerHints.throttled) this.#refusedAtMs = nowMs;
    const limits = this.#limitsIn(answerHints, nowMs);
    this.#applyPause(answerHints, nowMs);
    // Whoever refuses us means it: then no need of ours counts.
    const isRefused = nowMs < this.#refusedAtMs + this.budget.maxPauseMs;
    for (const limit of limits) {
      const lowered = loweredBy(limit, this.budget, isRefused ? () => 0 : this.needs);
      if (lowered !== undefined) this.#lower(lowered.perMs, lowered.requests, nowMs);
    }
    this.#advertise(answerHints, limits, inFlight, nowMs);
  }

  /** The limits of requests in an answer, with the windows that are known by now. */
  #limitsIn({ families, isOfOneResource }: AnswerHints, nowMs: number): readonly AdvertisedLimit[] {
    // Most answers speak of none, so it costs nothing.
    if (families.length === 0) return [];
    const known = (this.#windows ??= new LearnedWindows()).read(families, nowMs);
    this.#limits ??= new Map();
    for (const limit of known)
      keepNewest(this.#limits, `${limit.key} ${limit.resource ?? ""}`, limit, MOST_KNOWN);
    return isOfOneResource === true ? [] : limitsOf(known);
  }

  /** The upstream may not have counted those who are on their way. None left is a pause, which is applied as such. */
  #advertise(
    { remaining }: AnswerHints,
    limits: readonly AdvertisedLimit[],
    inFlight: number,
    nowMs: number,
  ): void {
    if (remaining === undefined && limits.length === 0) return;
    const least = limits.reduce((a, { requests }) => Math.min(a, requests), Infinity);
    const limit = remaining?.limit ?? (limits.length === 0 ? undefined : least);
    this.advertised = { limit, remaining: remaining?.requests };
    this.#left =
      remaining !== undefined && remaining.requests > 0
        ? partOf(remaining.requests, this.budget) - inFlight
        : Infinity;
    this.#leftUntilMs = nowMs + Math.min(remaining?.resetMs ?? 0, this.budget.maxPauseMs);
    if (remaining === undefined) return;
    const yieldMs = yieldMsOf(remaining, this.budget);
    this.#yieldUntilMs = yieldMs > 0 ? nowMs + yieldMs : 0;
  }

  #applyPause({ throttled, pause }: AnswerHints, nowMs: number): void {
    const pauseMs = pause?.scope === "budget" ? pause.forMs : 0;
    if (pauseMs > 0) this.#pause(pauseMs, nowMs);
    // An answer during a pause belongs to the burst that caused it: it neither doubles the pause nor ends the count.
    if (nowMs < this.pausedUntilMs) return;
    if (!throttled) {
      this.#hintlessRefusals = 0;
    } else if (pauseMs <= 0) {
      this.#pause(longestRateOf(this.budget).perMs * 2 ** this.#hintlessRefusals, nowMs);
      this.#hintlessRefusals = Math.min(this.#hintlessRefusals + 1, MOST_DOUBLINGS);
    }
  }

  #pause(forMs: number, nowMs: number): void {
    this.pausedUntilMs = Math.max(this.pausedUntilMs, nowMs + Math.min(forMs, this.budget.maxPauseMs));
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
