import type { Claimed, FleetBoard } from "../../core/fleet/board.ts";
import type { Log } from "../../core/text/log.ts";
import type { Clock } from "../../core/time/clock.ts";

export type FleetEvents = {
  onGained(gained: readonly Claimed[]): void;
  /** At once: somebody else may hold them soon. */
  onLost(upstreams: readonly string[]): void;
  /** Resolves when none of their polls is on its way any more. */
  drain(upstreams: readonly string[]): Promise<void>;
  /** What the fleet is to know of upstreams that are polled here. */
  statuses(): ReadonlyMap<string, string>;
};

export type MembershipParts = {
  readonly clock: Clock;
  readonly board: FleetBoard;
  readonly log: Log;
  /** Of this replica, and told to the others. */
  readonly name: string;
  readonly url: string;
  readonly ttlMs: number;
  /** Differs from process to process. */
  readonly boot: string;
  /** Each upstream is held by one; else all replicas poll all of them, and only know of each other. */
  readonly isSharded: boolean;
  readonly events: FleetEvents;
  readonly onBug: (error: unknown) => void;
};

/** In one call, so that none holds the board up for long. */
const BATCH = 256;

export function batchesOf(upstreams: readonly string[]): readonly (readonly string[])[] {
  const batches: (readonly string[])[] = [];
  for (let from = 0; from < upstreams.length; from += BATCH)
    batches.push(upstreams.slice(from, from + BATCH));
  return batches;
}
