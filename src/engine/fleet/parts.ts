import type { FleetBoard } from "../../core/fleet/board.ts";
import type { FleetView } from "../../core/fleet/fleet-status.ts";
import type { Group } from "../../core/fleet/groups.ts";
import type { Holdings } from "../../core/fleet/holdings.ts";
import type { Log } from "../../core/text/log.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { FleetLedger } from "./fleet-ledger.ts";

/** An upstream that this replica may poll from now on. */
export type Gained = {
  readonly upstream: string;
  /** How long nobody polled it; undefined if that is not known, or more than a day. */
  readonly unheldMs: number | undefined;
  /** How its last holder saw it. */
  readonly view: FleetView | undefined;
};

export type FleetEvents = {
  onGained(gained: readonly Gained[]): void;
  /** Must stop at once: another replica may hold them soon. */
  onLost(upstreams: readonly string[]): void;
  /** Resolves when none of their polls is in flight. */
  drain(upstreams: readonly string[]): Promise<void>;
  /** Another replica heard that this upstream wants a pause. */
  onPaused(upstream: string, forMs: number): void;
  /** Told to the fleet, by name on the board: the state of all upstreams polled here, or of those that may have changed since it was asked last. */
  records(isWhole: boolean): Iterable<readonly [string, string]>;
};

/** The budgets of this replica, as whoever claims them needs them. */
export type FleetBudgets = Pick<
  FleetLedger,
  "claimOf" | "begin" | "end" | "leasesEndInMs" | "pause" | "wants" | "granted" | "hearCounts" | "records"
>;

/** What replicas must agree on, and what of it they do. */
export type FleetConfig = {
  readonly groups: readonly Group[];
  /** By upstream, all that whoever polls it must hold, by names on the board. */
  readonly namesOf: ReadonlyMap<string, readonly string[]>;
  /** Hash of all of it, limits included. */
  readonly digest: string;
};

export const NO_CONFIG: FleetConfig = { groups: [], namesOf: new Map(), digest: "" };

export type MembershipParts = {
  readonly clock: Clock;
  readonly board: FleetBoard;
  readonly log: Log;
  /** This replica's name and URL, as the others see it. */
  readonly name: string;
  readonly url: () => string;
  readonly ttlMs: number;
  readonly holdings: Holdings;
  readonly budgets: FleetBudgets;
  /** Each upstream is held by one replica. Else all replicas poll all of them. */
  readonly isSharded: boolean;
  readonly events: FleetEvents;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly onBug: (error: unknown) => void;
};
