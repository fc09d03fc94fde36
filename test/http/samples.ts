import type { PollStatus, StatusSnapshot, UpstreamStatus } from "../../src/core/status/status.ts";
import type { FleetStatus, FleetView } from "../../src/core/fleet/fleet-status.ts";
import type { RoutesDeps } from "../../src/http/routes/routes.ts";

export function aPoll(over: Partial<PollStatus> = {}): PollStatus {
  return {
    id: "poll-1",
    origin: "schedule",
    atMs: 99_000,
    outcome: "ok",
    reason: "",
    degraded: false,
    durationMs: 120,
    phasesMs: { dns: 2, connect: 10, tls: 20, wait: 80, transfer: 8 },
    status: 200,
    detail: "",
    excerpt: undefined,
    ...over,
  };
}

export function anUpstream(over: Partial<UpstreamStatus> = {}): UpstreamStatus {
  return {
    name: "ai-router",
    url: "https://ai.example/v1/resources",
    budget: "ai-router",
    labels: { team: "growth" },
    schedule: { source: "every 15s", longestGapMs: 15_000 },
    objective: { availability: 0.995, latencyMs: 1000 },
    degradedAboveMs: 2000,
    health: { state: "up", sinceMs: 5000, up: true },
    pausedUntilMs: 0,
    nextSlotAtMs: 105_000,
    certificateExpiresAtMs: undefined,
    counts: { slots: 10, polls: 8, inFlight: 1, waiting: 0, skipped: 1 },
    skips: [{ cause: "budget", count: 1 }],
    skippedSincePoll: [],
    latency: { polls: 8, p50Ms: 100, p95Ms: 200, p99Ms: 1240 },
    availability: [{ windowMs: 3_600_000, ok: 7, failed: 1, ratio: 0.875 }],
    lastPolls: [aPoll()],
    lastFailures: [],
    ...over,
  };
}

export function aSnapshot(over: Partial<StatusSnapshot> = {}): StatusSnapshot {
  return {
    version: "0.1.0",
    startedAtMs: 1000,
    nowMs: 100_000,
    ready: true,
    stateStoreUp: undefined,
    lastReload: { successful: true, lastSuccessAtMs: 1000 },
    upstreams: [anUpstream()],
    budgets: [
      {
        name: "ai-router",
        share: 0.2,
        rates: [{ label: "1m", limit: 60, cap: 12, leases: 4 }],
        advertised: undefined,
        pausedUntilMs: 0,
        quota: undefined,
      },
    ],
    incidents: [],
    ...over,
  };
}

/** `ai-router` is polled here, `email` by another. */
export function aFleet(over: Partial<FleetStatus> = {}): FleetStatus {
  const replica = { url: "http://10.0.0.7:10429", held: 1, isThisOne: false, isLeaving: false };
  return {
    mode: "shard",
    name: "a",
    redisUp: true,
    sessionValid: true,
    replicas: [
      { ...replica, name: "a", isThisOne: true },
      { ...replica, name: "b", url: "http://10.0.0.8:10429/" },
    ],
    upstreams: [
      { name: "ai-router", holder: "a", views: [aView()] },
      { name: "email", holder: "b", views: [aView({ vantage: "b" })] },
    ],
    ...over,
  };
}

export function aView(over: Partial<FleetView> = {}): FleetView {
  return { vantage: "a", state: "up", sinceMs: 1_000, lastPollAtMs: 2_000, lastDurationMs: 112, ...over };
}

export function someDeps(over: Partial<RoutesDeps> = {}): RoutesDeps {
  return {
    status: () => aSnapshot(),
    fleet: () => Promise.resolve(undefined),
    metrics: () => "pacewatch_slots_total 1\n",
    reload: () => Promise.resolve({ kind: "reloaded" }),
    config: () => ({ upstreams: [] }),
    lifecycleEnabled: false,
    ready: () => true,
    ...over,
  };
}
