import type { Advice } from "../../core/advice/advice.ts";
import { formatDuration } from "../../core/time/duration.ts";
import type { Log } from "../../core/text/log.ts";
import type { BudgetRestraint, LeaseDecision, Ledger, RunningLedger } from "../../core/budget/ledger.ts";

/** Tells the operator of every silence that an upstream asks for; loudly where it asks for more than it is given. */
export class LoggingLedger implements Ledger {
  readonly #ledger: RunningLedger;
  readonly #log: Log;

  constructor(ledger: RunningLedger, log: Log) {
    this.#ledger = ledger;
    this.#log = log;
  }

  restraint(budget: string): BudgetRestraint {
    return this.#ledger.restraint(budget);
  }

  take(budget: string): LeaseDecision | Promise<LeaseDecision> {
    return this.#ledger.take(budget);
  }

  applyAdvice(budget: string, advice: Advice): void {
    this.#ledger.applyAdvice(budget, advice);
    const { pause } = advice;
    // A poll may end after its budget has left the config.
    if (pause === undefined || pause.forMs <= 0 || this.#ledger.state(budget) === undefined) return;
    const { scope, source, forMs } = pause;
    const seconds = Math.round(forMs / 1_000);
    const { maxPauseMs } = this.#ledger.restraint(budget);
    if (forMs <= maxPauseMs) {
      this.#log.info({ budget, scope, source, seconds }, "silence was asked for, and is kept");
      return;
    }
    const cap = formatDuration(maxPauseMs);
    this.#log.warn(
      { budget, scope, source, seconds, cap },
      "silence was asked for beyond max_pause, and is cut to it",
    );
  }

  onChange(listener: (budget: string) => void): void {
    this.#ledger.onChange(listener);
  }
}
