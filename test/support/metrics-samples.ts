import { UpstreamAccounts, RedisAccount } from "../../src/core/metrics/accounts.ts";
import { PHASES } from "../../src/core/exchange/exchange.ts";
import type { Poll } from "../../src/core/poll/poll.ts";
import { SLOT_STARTED, SLOT_WAITING } from "../../src/core/poll/ports.ts";
import type {
  BudgetSnapshot,
  FleetSnapshot,
  MetricsSnapshot,
  UpstreamSnapshot,
} from "../../src/core/metrics/snapshot.ts";
import { sampleUpstream } from "./samples.ts";

export const POLL_ENDED_AT_MS = 1_790_000_000_250;

export function samplePoll(changes: Partial<Poll> = {}): Poll {
  return {
    id: "poll-1",
    origin: "schedule",
    slotAtMs: POLL_ENDED_AT_MS - 250,
    sentAtMs: POLL_ENDED_AT_MS - 200,
    endedAtMs: POLL_ENDED_AT_MS,
    delayMs: 50,
    durationMs: 200,
    phasesMs: { wait: 150, transfer: 50 },
    reusedConnection: false,
    outcome: { kind: "ok" },
    degraded: false,
    withinObjective: true,
    detail: "200 OK",
    head: { status: 200, reasonPhrase: "OK", headers: [] },
    excerpt: undefined,
    certificateExpiresAtMs: undefined,
    malformedSignals: 0,
    ...changes,
  };
}

/** Accounts of one finished poll. */
export function accountsOf(poll: Poll): UpstreamAccounts {
  const accounts = new UpstreamAccounts();
  accounts.record(SLOT_WAITING);
  accounts.record(SLOT_STARTED);
  accounts.record({ kind: "polled", poll });
  return accounts;
}

export function sampleUpstreamSnapshot(changes: Partial<UpstreamSnapshot> = {}): UpstreamSnapshot {
  return {
    upstream: sampleUpstream(),
    accounts: new UpstreamAccounts(),
    health: { state: "unknown", up: undefined },
    nextSlotAtMs: undefined,
    ...changes,
  };
}

export function sampleBudgetSnapshot(changes: Partial<BudgetSnapshot> = {}): BudgetSnapshot {
  return {
    name: "api",
    rates: [{ label: "1m", limit: 60, cap: 12, leases: 3 }],
    advertisedLimit: undefined,
    advertisedRemaining: undefined,
    pausedUntilWallMs: 0,
    quota: undefined,
    ...changes,
  };
}

export function sampleMetricsSnapshot(changes: Partial<MetricsSnapshot> = {}): MetricsSnapshot {
  return {
    upstreams: [sampleUpstreamSnapshot()],
    budgets: [sampleBudgetSnapshot()],
    stateStoreUp: undefined,
    fleet: undefined,
    reload: { successful: true, lastSuccessAtMs: POLL_ENDED_AT_MS },
    build: { version: "0.1.0", node: "24.0.0" },
    ...changes,
  };
}

export function sampleFleetSnapshot(changes: Partial<FleetSnapshot> = {}): FleetSnapshot {
  const redis = new RedisAccount();
  redis.observe("beat", 2, undefined);
  return {
    vantage: undefined,
    replicas: 3,
    held: 1,
    moves: { gained: 2, lost: 1 },
    sessionValid: true,
    redisUp: true,
    redis,
    ...changes,
  };
}

/** Every fact that can be known is known. */
export function fullMetricsSnapshot(): MetricsSnapshot {
  const phasesMs = Object.fromEntries(PHASES.map((phase) => [phase, 10]));
  const poll = samplePoll({ phasesMs, certificateExpiresAtMs: POLL_ENDED_AT_MS + 86_400_000 });
  return sampleMetricsSnapshot({
    upstreams: [
      sampleUpstreamSnapshot({
        upstream: sampleUpstream({ labels: { team: "growth" } }),
        accounts: accountsOf(poll),
        health: { state: "up", up: true },
        nextSlotAtMs: POLL_ENDED_AT_MS + 15_000,
      }),
    ],
    budgets: [
      sampleBudgetSnapshot({
        advertisedLimit: 60,
        advertisedRemaining: 48,
        quota: { limit: 400_000, used: 120, forecast: 172_800 },
      }),
    ],
    stateStoreUp: true,
    fleet: sampleFleetSnapshot(),
  });
}
