import { type Counts, counterOf } from "../../kernel/metrics/counts.ts";
import { counter, gauge, type Metrics, one, seconds } from "../../kernel/metrics/family.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import { HINTS } from "./fields/answer-hints.ts";
import type { HintsStatus } from "./budget-hints.ts";
import type { Hints } from "./hints.ts";

declare module "../../kernel/metrics/snapshot.ts" {
  interface Running {
    readonly hints?: Hints | undefined;
  }
  interface BudgetSnapshot extends Partial<HintsStatus> {}
}

class Malformed implements Counts {
  signals = 0;

  judged({ said }: Poll): void {
    this.signals += HINTS.of(said)?.malformed ?? 0;
  }
}

const COUNTER = counterOf("malformed", () => new Malformed());

export const HINT_METRICS: Metrics = {
  counter: COUNTER,
  ofBudget:
    ({ hints }) =>
    ({ name }) =>
      hints?.statusOf(name) ?? {},
  upstream: {
    pacewatch_signals_malformed_total: counter(
      "Rate-limit signals in answers that could not be read, and were ignored; absent before the first.",
      one(({ accounts }) => COUNTER.of(accounts.counts)?.signals || undefined),
    ),
  },
  budget: {
    pacewatch_budget_advertised_limit_requests: gauge(
      "The limit that the upstream last told; absent until it tells one.",
      one(({ advertisedLimit }) => advertisedLimit),
    ),
    pacewatch_budget_advertised_remaining_requests: gauge(
      "What was left of the limit, as the upstream last told; absent until it tells.",
      one(({ advertisedRemaining }) => advertisedRemaining),
    ),
    pacewatch_budget_paused_until_timestamp_seconds: gauge(
      "Until when the upstream asked for silence; 0 when it does not.",
      one(({ pausedUntilWallMs }) => seconds(pausedUntilWallMs)),
    ),
  },
};
