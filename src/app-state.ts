import { openStateStore } from "./adapters/sqlite.ts";
import type { Config } from "./core/config.ts";
import type { Log } from "./core/log.ts";
import type { Clock, RunningLedger } from "./core/ports.ts";
import type { QuotaReading } from "./core/quota-journal.ts";
import type { StateStore } from "./core/state.ts";

export type OpenedState =
  /** None where the config names no file: then history and quotas live in memory. */
  | { readonly kind: "opened"; readonly store: StateStore | undefined }
  | { readonly kind: "refused"; readonly faults: readonly string[] };

export async function openState(
  { state }: Config,
  parts: { readonly clock: Clock; readonly log: Log },
): Promise<OpenedState> {
  if (state === undefined) return { kind: "opened", store: undefined };
  const opened = await openStateStore({ ...parts, path: state.path });
  return opened.kind === "refused" ? { kind: "refused", faults: [opened.message] } : opened;
}

/** What the state file must know of every budget that has a quota. */
export function quotaReadings(config: Config, ledger: RunningLedger): ReadonlyMap<string, QuotaReading> {
  return new Map(
    config.budgets.flatMap(({ name, quota }) => {
      const buckets = ledger.quotaBuckets(name);
      if (quota === undefined || buckets === undefined) return [];
      return [[name, { buckets, paceGapMs: ledger.restraint(name).paceGapMs }] as const];
    }),
  );
}
