/** Whether a config fits the limits of its upstreams, checked before any request is sent. */

import type { Upstream } from "../kernel/config/config.ts";
import { MINUTE_MS } from "../kernel/time/duration.ts";
import { slotAfter, type Schedule } from "../kernel/schedule/schedule.ts";
import { sendersByBudget } from "../kernel/budget/needs.ts";
import { densityWarnings } from "./objective-density.ts";
import { crowdedBudgets, type Watched } from "./crowding.ts";
import { crowdedWarning, faultsOf, warningsOf } from "./findings.ts";
import { looksAgain } from "./looking-again.ts";
import { type Finding, type ProofPart, sendersOf } from "./part.ts";
import { type BudgetProof, proveBudget, provenQuotas } from "./numbers.ts";

export type Proof = {
  readonly budgets: readonly BudgetProof[];
  /** By upstream: how late after its slot a poll may end. */
  readonly latenessMs: ReadonlyMap<string, number>;
  /** By upstream: how often it may be looked at again between two slots, while it is down. */
  readonly looksAgain: ReadonlyMap<string, number>;
  /** Why the config must be refused. */
  readonly faults: readonly Finding[];
  readonly warnings: readonly Finding[];
};

export function prove(config: Watched, parts: readonly ProofPart[]): Proof {
  const budgets: BudgetProof[] = [];
  const polled = sendersByBudget(config.upstreams);
  const faults = parts.flatMap((part) => part.faults?.(config.budgets, polled) ?? []);
  const warnings: Finding[] = [...densityWarnings(config.upstreams)];
  const byBudget = sendersByBudget(sendersOf(config.upstreams, parts));
  const crowded = crowdedBudgets(config);
  for (const budget of config.budgets) {
    const use = { budget, upstreams: byBudget.get(budget.name) ?? [] };
    const quotas = provenQuotas(use, parts);
    const ofQuotas = quotas.map(({ part: { kind }, proof }) => [kind, proof] as const);
    const proof = { ...proveBudget(use), ...Object.fromEntries(ofQuotas) };
    budgets.push(proof);
    faults.push(...faultsOf(proof, quotas, use));
    warnings.push(...warningsOf(proof, quotas, use));
    if (proof.fits && crowded.has(budget.name)) warnings.push(crowdedWarning(proof));
  }
  const latenessOf = latenesses(config);
  return {
    budgets,
    latenessMs: new Map(config.upstreams.map((upstream) => [upstream.name, latenessOf(upstream)])),
    looksAgain: looksAgain(config, parts),
    faults,
    warnings,
  };
}

/**
 * How late after its slot a poll of an upstream of this config may end. A budget that a reload adds is silent until
 * nothing of a former life can count, so without that silence every reload could page.
 */
export function latenesses({ budgets, upstreams }: Watched): (upstream: Upstream) => number {
  const longestTimeoutMs = Math.max(0, ...upstreams.map(({ timeoutMs }) => timeoutMs));
  const silentMs = new Map(
    budgets.map(({ name, rates, lingerMs }) => [
      name,
      Math.max(...rates.map(({ perMs }) => perMs)) + lingerMs,
    ]),
  );
  return ({ budgets: own }) => {
    const longestSilenceMs = Math.max(0, ...own.map((budget) => silentMs.get(budget) ?? 0));
    return Math.ceil((longestSilenceMs + longestTimeoutMs) / 1000) * 1000 + MINUTE_MS;
  };
}

/** So many slots that came to nothing, and that nobody asked to skip, are a stall. */
const SLOTS_UNTIL_STALLED = 3;

/** When an upstream is stalled that is owed its slots since then, whatever its calendar. Wall clock. */
export function stalledAtMs(schedule: Schedule, owedSinceMs: number, latenessMs: number): number {
  return slotAfter(schedule, owedSinceMs, SLOTS_UNTIL_STALLED) + latenessMs;
}
