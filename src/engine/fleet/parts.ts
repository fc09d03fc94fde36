import type { ClaimedBudget, FleetBoard, Granted, Shares } from "../../core/fleet/board.ts";
import type { FleetView } from "../../core/fleet/fleet-status.ts";
import type { Group } from "../../core/fleet/groups.ts";
import type { Holdings } from "../../core/fleet/holdings.ts";
import type { Log } from "../../core/text/log.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { Moment } from "../../core/time/moment.ts";

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
  /** Told to the fleet, by name on the board: the state of upstreams polled here. */
  records(): ReadonlyMap<string, string>;
};

/** The budgets of this replica, as those who claim them need them. */
export interface FleetBudgets {
  /** What a claim says of it. */
  claimOf(budget: string): ClaimedBudget;
  /** Others may have sent on it, so nothing is sent before `waitMs`. Resolves when its quota is known. */
  begin(
    budget: string,
    waitMs: number,
    record: { readonly text: string; readonly agoMs: number } | undefined,
  ): void;
  /** Resolves when its quota is told. */
  end(budget: string): Promise<void>;
  /** Undefined while a request is in flight. */
  leasesEndInMs(budget: string): number | undefined;
  pause(budget: string, forMs: number): void;
  /** In `everywhere`, what is wanted of all budgets; undefined in `shard`. */
  wants(): (Shares & { readonly has: Shares; readonly forgottenMs: number }) | undefined;
  granted(granted: Granted, sentAt: Moment): void;
  /** Draws on the quotas ahead of what is sent. */
  drawAhead(): Promise<void>;
  /** By name on the board. */
  records(): ReadonlyMap<string, string>;
}

/** What replicas must agree on, and what of it they do. */
export type FleetConfig = {
  readonly groups: readonly Group[];
  /** By upstream: the budgets that it draws on, those of its tokens included. */
  readonly budgetsOf: ReadonlyMap<string, readonly string[]>;
  /** Hash of all of it, limits included. */
  readonly digest: string;
};

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
