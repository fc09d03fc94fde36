import type { Claimed, FleetBoard } from "../../core/fleet/board.ts";
import type { Holdings } from "../../core/fleet/holdings.ts";
import type { Log } from "../../core/text/log.ts";
import type { Clock } from "../../core/time/clock.ts";

export type FleetEvents = {
  onGained(gained: readonly Claimed[]): void;
  /** Must stop at once: another replica may hold them soon. */
  onLost(upstreams: readonly string[]): void;
  /** Resolves when none of their polls is in flight. */
  drain(upstreams: readonly string[]): Promise<void>;
  /** Published to the fleet: the state of upstreams polled here. */
  statuses(): ReadonlyMap<string, string>;
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
  /** Each upstream is held by one replica. Else all replicas poll all of them. */
  readonly isSharded: boolean;
  readonly events: FleetEvents;
  readonly onBug: (error: unknown) => void;
};
