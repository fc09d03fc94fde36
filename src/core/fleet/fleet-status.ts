/** The whole fleet, as any replica knows it. Wall-clock milliseconds, by the clock of the replica that polled. */

import type { FleetMode } from "../config/config.ts";
import { REASON_NAMES } from "../exchange/reasons.ts";
import { flag, number, objectOf, oneOf, optional, readText, type Row, text } from "../exchange/rows.ts";
import { HEALTH_STATES, type Health, type HealthState, UNKNOWN_HEALTH } from "../poll/health.ts";
import { upstreamOnBoard } from "./groups.ts";

/** How one replica sees one upstream, on the board as JSON: others show it, and whoever polls it next goes on with it. */
export type FleetView = {
  readonly vantage: string;
  readonly state: HealthState;
  readonly isUp: boolean | undefined;
  readonly sinceMs: number | undefined;
  readonly lastPollAtMs: number | undefined;
  readonly lastDurationMs: number | undefined;
  /** If nobody has polled it by then, its state is not known any more. */
  readonly knownUntilMs: number;
  /** The one that is open. */
  readonly incident: OpenIncident | undefined;
  /** What is wrong with it, for whoever tells people. */
  readonly bulletin: string | undefined;
};

export type OpenIncident = {
  readonly state: HealthState;
  readonly reason: string;
  readonly startedAtMs: number;
  readonly polls: number;
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
export type FleetWait = "new_board" | "part";

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

const state = oneOf(HEALTH_STATES);
const reason = oneOf(["", ...REASON_NAMES]);

/** Undefined if another version wrote something unreadable. */
export function readView(written: string): FleetView | undefined {
  return readText(written, (view) => ({
    vantage: view.get("vantage", text),
    state: view.get("state", state),
    isUp: view.get("isUp", optional(flag)),
    sinceMs: view.get("sinceMs", optional(number)),
    lastPollAtMs: view.get("lastPollAtMs", optional(number)),
    lastDurationMs: view.get("lastDurationMs", optional(number)),
    knownUntilMs: view.get("knownUntilMs", number),
    incident: view.get("incident", optional(objectOf(incidentIn))),
    bulletin: view.get("bulletin", optional(text)),
  }));
}

function incidentIn(incident: Row): OpenIncident {
  return {
    state: incident.get("state", state),
    reason: incident.get("reason", reason),
    startedAtMs: incident.get("startedAtMs", number),
    polls: incident.get("polls", number),
  };
}

/** Whoever polls it next begins with it, as if it had been the one that polled. */
export function healthIn({ state, isUp }: Pick<FleetView, "state" | "isUp">): Health {
  return { ...UNKNOWN_HEALTH, state, isUp };
}

/** Its name on the board. A name has no `@`. */
export function viewKey(mode: FleetMode, upstream: string, vantage: string): string {
  const name = upstreamOnBoard(upstream);
  return mode === "shard" ? name : `${name}@${vantage}`;
}
