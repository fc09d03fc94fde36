/** The whole fleet, as any replica knows it. Wall-clock milliseconds, by the clock of the replica that polled. */

import type { FleetMode } from "../config/config.ts";
import { numberIn, readObject } from "./member.ts";
import { HEALTH_STATES, type Health, type HealthState, UNKNOWN_HEALTH } from "../poll/health.ts";
import { upstreamOnBoard } from "./groups.ts";

/** How one replica sees one upstream: others show it, and whoever polls it next goes on with it. */
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
  const {
    vantage: v,
    state: s,
    isUp: u,
    sinceMs: t,
    lastPollAtMs: p,
    lastDurationMs: d,
    knownUntilMs: k,
  } = view;
  const { state, reason, startedAtMs, polls } = view.incident ?? {};
  const i = view.incident && [state, reason, startedAtMs, polls];
  return JSON.stringify({ v, s, u, t, p, d: d === undefined ? undefined : Math.round(d), k, i });
}

/** Undefined if another version wrote something unreadable. */
export function readView(text: string): FleetView | undefined {
  const { v, s, u, t, p, d, k, i } = readObject(text);
  const state = stateIn(s);
  if (typeof v !== "string" || state === undefined) return undefined;
  return {
    vantage: v,
    state,
    isUp: typeof u === "boolean" ? u : undefined,
    sinceMs: numberIn(t),
    lastPollAtMs: numberIn(p),
    lastDurationMs: numberIn(d),
    knownUntilMs: numberIn(k) ?? 0,
    incident: incidentIn(i),
  };
}

/** Reasons are words of ours. */
const REASON = /^[a-z_]{0,40}$/;

function incidentIn(value: unknown): OpenIncident | undefined {
  const [s, reason, t, n]: readonly unknown[] = Array.isArray(value) ? value : [];
  const [state, startedAtMs, polls] = [stateIn(s), numberIn(t), numberIn(n)];
  if (state === undefined || startedAtMs === undefined || polls === undefined) return undefined;
  return typeof reason === "string" && REASON.test(reason)
    ? { state, reason, startedAtMs, polls }
    : undefined;
}

function stateIn(value: unknown): HealthState | undefined {
  return HEALTH_STATES.find((known) => known === value);
}

/** Whoever polls it next begins with it, as if it had been the one that polled. */
export function healthIn({ state, isUp }: FleetView): Health {
  return { ...UNKNOWN_HEALTH, state, isUp };
}

/** Its name on the board. A name has no `@`. */
export function viewKey(mode: FleetMode, upstream: string, vantage: string): string {
  const name = upstreamOnBoard(upstream);
  return mode === "shard" ? name : `${name}@${vantage}`;
}
