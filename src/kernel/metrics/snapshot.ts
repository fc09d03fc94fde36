/** What one scrape shows. Upstreams and budgets are read one by one: the numbers of each are of one moment. */

import type { RateStatus } from "../budget/ledger.ts";
import type { Config, Upstream } from "../config/config.ts";
import type { Health } from "../poll/health.ts";
import type { UpstreamAccounts } from "./accounts.ts";

/** What runs while a scrape is made. A feature adds what its metrics are read from, here and below. */
export interface Running {
  readonly config: Config;
  /** Wall clock. */
  readonly nowMs: number;
}

export interface UpstreamSnapshot {
  readonly upstream: Upstream;
  readonly accounts: UpstreamAccounts;
  readonly health: Pick<Health, "state" | "isUp">;
  /** Wall clock. */
  readonly nowMs: number;
  /** Wall clock. */
  readonly stalledAtMs: number;
}

export interface BudgetSnapshot {
  readonly name: string;
  readonly rates: readonly RateStatus[];
}

export interface MetricsSnapshot extends Running {
  /** Each is read when it is asked for. */
  readonly upstreams: Iterable<UpstreamSnapshot>;
  readonly budgets: Iterable<BudgetSnapshot>;
  /** How many cannot be reached because we are offline; undefined while this process polls nothing. */
  readonly offlineUpstreams: number | undefined;
  readonly reload: { readonly successful: boolean; readonly lastSuccessAtMs: number };
  readonly build: { readonly version: string; readonly node: string };
  /** The process began then. Wall clock. */
  readonly startedAtMs: number;
}
