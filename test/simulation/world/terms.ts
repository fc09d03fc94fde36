import type { Rate } from "../../../src/kernel/config/config.ts";
import { capOf } from "../../../src/kernel/config/part.ts";
import { accountOf, budgetNameOf } from "./setup.ts";
import type { Setup } from "./scenario.ts";

/** What one key may send, and how fast whoever keeps to it sends at the most. */
export type Terms = {
  readonly rates: readonly Rate[];
  readonly share: number;
  readonly gapMs: number;
  readonly lingerMs: number;
  /** How long after its sending a request may still be counted: the longest timeout, and linger. */
  readonly afterlifeMs: number;
};

const known = new WeakMap<Setup, Map<string, Terms | undefined>>();

/** The same object for the same question; undefined where the key has no budget. */
export function termsOf(setup: Setup, credential: string): Terms | undefined {
  const bySetup = known.get(setup) ?? new Map<string, Terms | undefined>();
  known.set(setup, bySetup);
  if (!bySetup.has(credential)) bySetup.set(credential, readTerms(setup, credential));
  return bySetup.get(credential);
}

function readTerms(setup: Setup, credential: string): Terms | undefined {
  const name = budgetNameOf(setup, credential);
  const budget = name === undefined ? undefined : accountOf(setup, name)?.budget;
  if (budget === undefined) return undefined;
  const drawers = setup.upstreams.filter(({ budgets }) => name !== undefined && budgets.includes(name));
  return {
    rates: budget.rates,
    share: budget.share,
    gapMs: Math.max(...budget.rates.map((rate) => rate.perMs / capOf(rate.requests, budget))),
    lingerMs: budget.lingerMs,
    afterlifeMs: Math.max(0, ...drawers.map(({ timeoutMs }) => timeoutMs)) + budget.lingerMs,
  };
}

/**
 * Whether a life under `later` can know enough of a dead one under `earlier`. A process that starts knows its
 * config and nothing else: where its predecessor was allowed to send faster or to wait longer, no promise is given.
 */
export function covers(later: Terms, earlier: Terms): boolean {
  return earlier.gapMs >= later.gapMs * (1 - 1e-9) && earlier.afterlifeMs <= later.afterlifeMs;
}
