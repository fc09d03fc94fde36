/**
 * Some upstreams tell no limit: it is learned from their refusals.
 *
 *      silence     answered, answered, answered …  refused     silence
 *      |-- rest --|------------ active ----------------|
 *
 * The upstream allows at least what it answered in `rest` and `active` together, as it did allow that. The same number
 * of requests in `active` alone was too fast. Each refusal halves how fast we ask, but not below what is allowed at least.
 * Pacing spreads what is left, so this also ends refusals by a limit of another, shorter window.
 *
 * One refusal alone may be another's doing, so it changes nothing. Nor do refusals that go on however slow we are make
 * the watch blind: one slot in four is kept, as when we yield to production.
 */

import type { AnswerHints } from "./fields/answer-hints.ts";
import type { Budget, Rate } from "../../kernel/config/config.ts";
import type { KnownLimit } from "./learned-windows.ts";
import type { Lowered } from "./record.ts";
import type { Needs } from "../../kernel/budget/needs.ts";
import { longestRateOf, YIELD_KEEPS_ONE_IN } from "./signals.ts";

type Asker = { readonly budget: Budget; readonly needs: Needs };

type Run = {
  readonly fromMs: number;
  /** Nothing was sent for so long before it. */
  readonly restMs: number;
  readonly answered: number;
};

export class UnadvertisedLimit {
  /** The run that goes on since the last pause. */
  #run: Run | undefined;
  #pausedFromMs = Number.NEGATIVE_INFINITY;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  #bound: { readonly perMs: number; readonly requests: number } | undefined;

  /** `cap`: of the longest window, when the answer came. `isPaused`: before what the answer asks for is applied. */
  heard(
    answerHints: AnswerHints,
    { budget, needs }: Asker,
    cap: number,
    isPaused: boolean,
    nowMs: number,
  ): void {
    this.#forgetAfter(budget.maxPauseMs, nowMs);
    // An answer during a pause belongs to the burst that caused it.
    if (isPaused) return;
    if (!answerHints.throttled) {
      const { fromMs, restMs, answered } = this.#run ?? this.#newRun(nowMs);
      this.#run = { fromMs, restMs, answered: answered + 1 };
      return;
    }
    const run = this.#run;
    this.#run = undefined;
    this.#pausedFromMs = nowMs;
    if (run === undefined || !isAboutRate(answerHints, budget)) return;
    if (this.#refusedAtMs > Number.NEGATIVE_INFINITY) {
      const rate = longestRateOf(budget);
      const requests = Math.max(slowedBy(run, rate.perMs, cap, nowMs), needs(rate) / YIELD_KEEPS_ONE_IN);
      this.#bound = { perMs: rate.perMs, requests: Math.ceil(requests) };
    }
    this.#refusedAtMs = nowMs;
  }

  /** Lets at most so many of our requests into a window of that rate. */
  capOf({ perMs }: Rate, cap: number, budget: Budget, nowMs: number): number {
    this.#forgetAfter(budget.maxPauseMs, nowMs);
    return this.#bound?.perMs === perMs ? Math.min(cap, this.#bound.requests) : cap;
  }

  /** People see it as a limit like any other, known from refusals. */
  get known(): readonly KnownLimit[] {
    if (this.#bound === undefined) return [];
    const { perMs, requests } = this.#bound;
    const unsaid = { remaining: undefined, resetMs: undefined, resource: undefined };
    return [{ key: "", unit: "requests", limit: requests, perMs, ...unsaid, windowFrom: "refusals" }];
  }

  held(maxPauseMs: number): Lowered | undefined {
    return this.#bound && { ...this.#bound, untilMs: this.#refusedAtMs + maxPauseMs };
  }

  adopt({ perMs, requests, untilMs }: Lowered, maxPauseMs: number): void {
    const isStricter = this.#bound === undefined || requests < this.#bound.requests;
    if (isStricter) this.#bound = { perMs, requests };
    this.#refusedAtMs = Math.max(this.#refusedAtMs, untilMs - maxPauseMs);
  }

  #newRun(nowMs: number): Run {
    return { fromMs: nowMs, restMs: nowMs - this.#pausedFromMs, answered: 0 };
  }

  #forgetAfter(forMs: number, nowMs: number): void {
    if (nowMs < this.#refusedAtMs + forMs) return;
    this.#refusedAtMs = Number.NEGATIVE_INFINITY;
    this.#bound = undefined;
  }
}

/** Whether an answer tells a limit whose window is known too: that is better than what can be counted. */
export function tellsLimit({ families }: AnswerHints, known: readonly KnownLimit[]): boolean {
  return families.some(
    ({ key, unit, limit }) =>
      unit === "requests" &&
      limit !== undefined &&
      known.some((other) => other.key === key && other.perMs !== undefined),
  );
}

function slowedBy({ fromMs, restMs, answered }: Run, perMs: number, cap: number, nowMs: number): number {
  const activeMs = nowMs - fromMs;
  const asked = Math.min(cap, (answered * perMs) / activeMs);
  const allowed = (answered * perMs) / (Math.min(restMs, perMs) + activeMs);
  return Math.max(1, asked / 2, allowed);
}

/** Spent credit is none of how fast we ask. */
function isAboutRate({ pause }: AnswerHints, budget: Budget): boolean {
  return pause === undefined || (pause.source !== "credit_spent" && pause.forMs < budget.maxPauseMs);
}
