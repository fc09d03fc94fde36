import { gauge, type Metrics, one } from "../../kernel/metrics/family.ts";

export type FleetSnapshot = {
  readonly isLeading: boolean;
  readonly isLockUp: boolean;
  /** Of the budgets and upstreams of the running config. */
  readonly digest: string;
};

declare module "../../kernel/metrics/snapshot.ts" {
  interface Running {
    /** Undefined without a fleet. */
    readonly fleet?: FleetSnapshot | undefined;
  }
}

export const FLEET_METRICS: Metrics = {
  process: {
    pacewatch_leader: gauge(
      "1 while this process leads its fleet and polls, 0 while it stands by; absent without a fleet, as are the others of it.",
      one(({ fleet }) => fleet?.isLeading),
    ),
    pacewatch_lock_up: gauge(
      "1 while the lock answers this process, 0 while it does not.",
      one(({ fleet }) => fleet?.isLockUp),
    ),
    pacewatch_config_info: gauge(
      "1, with a digest of the budgets and upstreams that this process runs: equal where those are.",
      ({ fleet }, add) => add(fleet && 1, fleet && { digest: fleet.digest }),
    ),
  },
};
