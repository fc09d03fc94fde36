import { reasonSentence } from "./reason-sentence.ts";
import type { BudgetStatus, StatusSnapshot, UpstreamStatus } from "./status.ts";
import { verdictOn, type Verdict } from "./verdict.ts";

/** What is the matter with an upstream, in sentences. */
export type Diagnosis = Verdict & { readonly reason: string };

export function diagnosisOf(upstream: UpstreamStatus, snapshot: StatusSnapshot): Diagnosis {
  const reason = reasonSentence(upstream, budgetOf(upstream, snapshot), snapshot.nowMs);
  return { ...verdictOn(upstream, snapshot), reason };
}

export function budgetOf({ budget }: UpstreamStatus, { budgets }: StatusSnapshot): BudgetStatus | undefined {
  return budgets.find(({ name }) => name === budget);
}
