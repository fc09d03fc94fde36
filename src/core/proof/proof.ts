/** Whether a config fits the limits of its upstreams, checked before any request is sent. */

import type { Budget, Fleet, Upstream } from "../config/config.ts";
import { sendersByBudget } from "../budget/needs.ts";
import { densityWarnings } from "./objective-density.ts";
import { crowdedBudgets } from "./crowding.ts";
import { type Finding, crowdedWarning, faultsOf, warningsOf } from "./findings.ts";
import { tokenRequests } from "../config/oauth2.ts";
import { type BudgetProof, proveBudget } from "./numbers.ts";

export type Proof = {
  readonly budgets: readonly BudgetProof[];
  /** Why the config must be refused. */
  readonly faults: readonly Finding[];
  readonly warnings: readonly Finding[];
};

export function prove(config: {
  readonly budgets: readonly Budget[];
  readonly upstreams: readonly Upstream[];
  readonly fleet?: Fleet | undefined;
}): Proof {
  const budgets: BudgetProof[] = [];
  const faults: Finding[] = [];
  const warnings: Finding[] = [...densityWarnings(config.upstreams)];
  const byBudget = sendersByBudget([...config.upstreams, ...tokenRequests(config.upstreams)]);
  const crowded = crowdedBudgets(config);
  for (const budget of config.budgets) {
    const upstreams = byBudget.get(budget.name) ?? [];
    const proof = proveBudget(budget, upstreams, config.fleet);
    budgets.push(proof);
    faults.push(...faultsOf(proof, budget, upstreams, config.fleet));
    warnings.push(...warningsOf(proof, budget, upstreams, config.fleet));
    if (proof.fits && crowded.has(budget.name)) warnings.push(crowdedWarning(proof));
  }
  return { budgets, faults, warnings };
}
