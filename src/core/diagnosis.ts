import { reasonSentence } from "./reason-sentence.ts";
import type { BudgetStatus, StatusSnapshot, UpstreamStatus } from "./status.ts";
import { surroundingsIn } from "./surroundings.ts";
import { verdictOn, type Verdict } from "./verdict.ts";

/** What is the matter with an upstream, in sentences. */
export type Diagnosis = Verdict & { readonly reason: string };

export function diagnosisOf(upstream: UpstreamStatus, snapshot: StatusSnapshot): Diagnosis {
  const reason = reasonSentence(upstream, budgetOf(upstream, snapshot), snapshot.nowMs);
  return { ...verdictOn(upstream, snapshot), reason };
}

export function budgetOf({ budget }: UpstreamStatus, snapshot: StatusSnapshot): BudgetStatus | undefined {
  return surroundingsIn(snapshot).budget(budget);
}
