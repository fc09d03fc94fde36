/** What one scrape shows. Upstreams and budgets are read one by one: the numbers of each are of one moment. */

import type { UpstreamAccounts } from "./accounts.ts";
import type { Burn, QuotaForecast } from "../../features/values/credit.ts";
import type { BudgetState } from "../budget/ledger.ts";
import type { Upstream } from "../config/config.ts";
import type { Health } from "../poll/health.ts";

/** One value that the answers tell. All unknown once it was not seen for long. */
export type ValueSnapshot = {
  readonly value: number | undefined;
  /** Wall clock. */
  readonly seenAtMs: number | undefined;
  /** Whether the answers have a number at its place; undefined while none has come for long. */
  readonly isReadable: boolean | undefined;
  /** What stands there instead, if anything. No metric has it. */
  readonly found?: string | undefined;
  /** Of a credit; in the order of BURN_WINDOWS. */
  readonly burns: readonly Burn[];
};

export type UpstreamSnapshot = {
  readonly upstream: Upstream;
  readonly accounts: UpstreamAccounts;
  readonly health: Pick<Health, "state" | "isUp">;
  /** Wall clock. */
  readonly nowMs: number;
  /** Wall clock. */
  readonly stalledAtMs: number;
  /** In the order of the config; absent where it has none. */
  readonly values?: readonly ValueSnapshot[];
};

/** In whole currencies where it has one, else in requests. */
export type QuotaSnapshot = {
  readonly limit: number;
  readonly perMs: number;
  readonly used: number;
  /** Those of them that were in flight when Pacewatch was killed: they may have been sent, or not. */
  readonly unconfirmed: number;
  /** What the schedules need in one period. */
  readonly forecast: number;
  readonly currency?: string;
  /** Too little is left for one more poll of the dearest until then. Wall clock; absent while there is enough. */
  readonly noRoomUntilMs?: number;
};

export type BudgetSnapshot = Omit<BudgetState, "pausedUntilMs"> & {
  readonly name: string;
  /** 0 when it is not paused. */
  readonly pausedUntilWallMs: number;
  readonly quota: QuotaSnapshot | undefined;
  readonly spend: QuotaSnapshot | undefined;
  /** When they are used up: our own, and those that answers tell. */
  readonly quotas: readonly QuotaForecast[];
};

export type FleetSnapshot = {
  readonly isLeading: boolean;
  readonly isLockUp: boolean;
  /** Of the budgets and upstreams of the running config. */
  readonly digest: string;
};

export const NOTIFY_OUTCOMES = ["delivered", "failed", "refused"] as const;

export type ReceiverSnapshot = {
  readonly name: string;
  readonly counts: Readonly<Record<(typeof NOTIFY_OUTCOMES)[number], number>>;
  /** What it is to be told is due since then. Wall clock; undefined while nothing is. */
  readonly oldestDueMs: number | undefined;
  readonly nowMs: number;
};

export type MetricsSnapshot = {
  /** Each is read when it is asked for. */
  readonly upstreams: Iterable<UpstreamSnapshot>;
  readonly budgets: Iterable<BudgetSnapshot>;
  /** Undefined without a state file. */
  readonly stateStoreUp: boolean | undefined;
  readonly stateLostAtMs: number | undefined;
  /** How many cannot be reached because we are offline; undefined while this process polls nothing. */
  readonly offlineUpstreams: number | undefined;
  /** Its name is a label of every sample; undefined where nobody else watches. */
  readonly vantage?: string | undefined;
  /** Undefined without a fleet. */
  readonly fleet: FleetSnapshot | undefined;
  readonly receivers: readonly ReceiverSnapshot[];
  readonly reload: { readonly successful: boolean; readonly lastSuccessAtMs: number };
  readonly build: { readonly version: string; readonly node: string };
  /** Of the process. Wall clock. */
  readonly startedAtMs: number;
};
