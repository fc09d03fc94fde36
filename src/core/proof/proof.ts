/** Whether a config fits the limits of its upstreams, checked before any request is sent. */

import type { Upstream } from "../config/config.ts";
import { MINUTE_MS } from "../time/duration.ts";
import { sendersByBudget } from "../budget/needs.ts";
import { densityWarnings } from "./objective-density.ts";
import { crowdedBudgets, type Watched } from "./crowding.ts";
import { type Group, groupsOf } from "../fleet/groups.ts";
import { type Finding, crowdedWarning, faultsOf, largeGroups, priceFaults, warningsOf } from "./findings.ts";
import { tokenRequests } from "../config/oauth2.ts";
import { type BudgetProof, proveBudget } from "./numbers.ts";

/** Upstreams that draw on common budgets. */
export type ProofGroup = Pick<Group, "budgets" | "upstreams" | "pollsPerSecond">;

export type Proof = {
  readonly budgets: readonly BudgetProof[];
  /** In `shard`: each is polled by one replica. The one that asks for the most polls is first. */
  readonly groups: readonly ProofGroup[];
  /** By upstream: how long without a poll is a stall. */
  readonly stalledAfterMs: ReadonlyMap<string, number>;
  /** Why the config must be refused. */
  readonly faults: readonly Finding[];
  readonly warnings: readonly Finding[];
};

export function prove(config: Watched): Proof {
  const budgets: BudgetProof[] = [];
  const faults: Finding[] = [...priceFaults(config.budgets, sendersByBudget(config.upstreams))];
  const groups = config.fleet?.mode === "shard" ? groupsOf(config.upstreams) : [];
  const warnings: Finding[] = [...densityWarnings(config.upstreams), ...largeGroups(groups)];
  const byBudget = sendersByBudget([...config.upstreams, ...tokenRequests(config.upstreams)]);
  const crowded = crowdedBudgets(config);
  for (const budget of config.budgets) {
    const use = { budget, upstreams: byBudget.get(budget.name) ?? [], fleet: config.fleet };
    const proof = proveBudget(use);
    budgets.push(proof);
    faults.push(...faultsOf(proof, use));
    warnings.push(...warningsOf(proof, use));
    if (proof.fits && crowded.has(budget.name)) warnings.push(crowdedWarning(proof));
  }
  const stalledAfterMs = stallTimes(config);
  return {
    budgets,
    stalledAfterMs: new Map(config.upstreams.map((upstream) => [upstream.name, stalledAfterMs(upstream)])),
    groups: groups
      .toSorted((a, b) => b.pollsPerSecond - a.pollsPerSecond)
      .map(({ budgets: of, upstreams, pollsPerSecond }) => ({ budgets: of, upstreams, pollsPerSecond })),
    faults,
    warnings,
  };
}

/**
 * After how long without a poll an upstream of this config is stalled: three of its longest gaps, and a minute. A budget
 * that a reload adds is silent until nothing of a former life can count, so without that silence every reload could page.
 */
export function stallTimes({ budgets, upstreams }: Watched): (upstream: Upstream) => number {
  const longestTimeoutMs = Math.max(0, ...upstreams.map(({ timeoutMs }) => timeoutMs));
  const silentMs = new Map(
    budgets.map(({ name, rates, lingerMs }) => [
      name,
      Math.max(...rates.map(({ perMs }) => perMs)) + lingerMs,
    ]),
  );
  return ({ budgets: own, schedule }) => {
    const longestSilenceMs =
      Math.max(0, ...own.map((budget) => silentMs.get(budget) ?? 0)) + longestTimeoutMs;
    return Math.ceil((3 * schedule.longestGapMs + longestSilenceMs) / 1000) * 1000 + MINUTE_MS;
  };
}
