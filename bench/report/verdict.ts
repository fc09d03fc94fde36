import type { Figure } from "./figure.ts";
import type { Goal } from "./goals.ts";
import { noiseOf } from "./statistics.ts";

/** `noisy` is beyond the goal, though by no more than this run's own values differ. */
export type Verdict = "met" | "noisy" | "missed";

export function verdictOf(goal: Goal, { summary }: Figure): Verdict {
  if (summary.median <= goal.atMost) return "met";
  // Said this way round, what could not be measured at all is missed, too.
  return summary.median - noiseOf(summary) <= goal.atMost ? "noisy" : "missed";
}

export function goalOf(goals: readonly Goal[], figure: Figure): Goal | undefined {
  return goals.find((goal) => goal.figure === figure.id);
}

export function missedGoals(goals: readonly Goal[], figures: readonly Figure[]): readonly Goal[] {
  return goals.filter((goal) =>
    figures.some((figure) => figure.id === goal.figure && verdictOf(goal, figure) === "missed"),
  );
}
