/** The whole fleet, as any replica knows it. Wall-clock milliseconds, by the clock of the replica that polled. */

import type { FleetMode } from "../config/config.ts";
import { numberIn, readObject } from "./member.ts";
import { HEALTH_STATES, type HealthState, SLOTS_UNTIL_UNKNOWN } from "../poll/health.ts";
import { upstreamOnBoard } from "./groups.ts";

/** How one replica sees one upstream. */
export type FleetView = {
  readonly vantage: string;
  readonly state: HealthState;
  readonly sinceMs: number | undefined;
  readonly lastPollAtMs: number | undefined;
  readonly lastDurationMs: number | undefined;
};

export type FleetReplica = {
  readonly name: string;
  /** Of its page; empty if unknown. */
  readonly url: string;
  readonly held: number;
  readonly isThisOne: boolean;
  readonly isLeaving: boolean;
  /** In `shard`: started not long ago, or does not hear Redis, so others hold the upstreams for now. */
  readonly isNew: boolean;
  /** How far its wall clock is ahead of most others'. */
  readonly clockAheadMs: number;
};

/** Why this replica polls nothing that it could: see the log. */
export type FleetWait = "older_version" | "new_board" | "part";

export type FleetUpstream = {
  readonly name: string;
  /** In `shard`, the replica that holds it, if any. */
  readonly holder: string | undefined;
  /** In `shard` at most one, in `everywhere` one for each live replica that has published. */
  readonly views: readonly FleetView[];
};

export type FleetStatus = {
  readonly mode: FleetMode;
  /** This replica's own. */
  readonly name: string;
  /** Whether Redis answered the last call. */
  readonly redisUp: boolean;
  readonly sessionValid: boolean;
  /** The live ones, by name. */
  readonly replicas: readonly FleetReplica[];
  /** All upstreams of this replica's config. */
  readonly upstreams: readonly FleetUpstream[];
  /** In `shard`: which replica holds each budget, if any. */
  readonly budgets: readonly { readonly name: string; readonly holder: string | undefined }[];
  readonly waitsFor: FleetWait | undefined;
  /** So many different configs run. */
  readonly configs: number;
};

/** Short, as there are thousands. */
export function viewText(view: FleetView): string {
  const { vantage: v, state: s, sinceMs: t, lastPollAtMs: p, lastDurationMs: d } = view;
  return JSON.stringify({ v, s, t, p, d: d === undefined ? undefined : Math.round(d) });
}

/** Undefined if another version wrote something unreadable. */
export function readView(text: string): FleetView | undefined {
  const { v, s, t, p, d } = readObject(text);
  const state = HEALTH_STATES.find((known) => known === s);
  if (typeof v !== "string" || state === undefined) return undefined;
  return { vantage: v, state, sinceMs: numberIn(t), lastPollAtMs: numberIn(p), lastDurationMs: numberIn(d) };
}

/** Its name on the board. A name has no `@`. */
export function viewKey(mode: FleetMode, upstream: string, vantage: string): string {
  const name = upstreamOnBoard(upstream);
  return mode === "shard" ? name : `${name}@${vantage}`;
}

/** By its view, so many slots were missed that its state is not known any more. */
export function isForgotten(view: FleetView, longestGapMs: number, nowMs: number): boolean {
  return nowMs - (view.lastPollAtMs ?? nowMs) > SLOTS_UNTIL_UNKNOWN * longestGapMs;
}
