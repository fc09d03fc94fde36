import { expect, test } from "vitest";
import { Quotas } from "../../../src/core/budget/quotas.ts";
import { budgetOnBoard } from "../../../src/core/fleet/groups.ts";
import { Holdings } from "../../../src/core/fleet/holdings.ts";
import { momentOf } from "../../../src/core/time/moment.ts";
import { FleetLedger } from "../../../src/engine/fleet/fleet-ledger.ts";
import { pollOnce } from "../../../src/engine/poll/poll-once.ts";
import { VirtualBoards } from "../../support/fleet-world.ts";
import { sampleBudget, sampleConfig, sampleFleet, sampleUpstream } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const TTL_MS = 10_000;
const HOUR_MS = 3_600_000;
const UPSTREAM = sampleUpstream({ budgets: ["api"] });
const CONFIG = sampleConfig({
  budgets: [sampleBudget({ share: 1, rates: [{ requests: 60, perMs: 10_000, label: "10s" }] })],
  upstreams: [UPSTREAM],
});

type Suspension = (clock: VirtualClock) => Promise<void> | void;

/** Whether the request was written of a poll whose process stood still after its lease was granted. */
async function isWritten(
  mode: "shard" | "everywhere",
  granted: { readonly seat: number; readonly rest: number },
  standStill: Suspension,
): Promise<boolean> {
  const clock = new VirtualClock();
  const holdings = new Holdings({ name: "one", boot: "boot", ttlMs: TTL_MS }, clock);
  const ledger = new FleetLedger(CONFIG, {
    fleet: sampleFleet({ mode, replicas: 3, ttlMs: TTL_MS }),
    board: new VirtualBoards(clock).boardFor(() => false),
    holdings,
    clock,
    quotas: new Quotas(clock),
    onBug: (error) => {
      throw error;
    },
  });
  holdings.claimed.add(budgetOnBoard("api"));
  await clock.advance(HOUR_MS);
  holdings.renew(momentOf(clock));
  ledger.granted({ ...granted, isAnew: false, isMixed: false }, momentOf(clock));
  const decision = ledger.take(["api"]);
  if (decision.kind !== "granted") throw new Error(`no lease: ${decision.cause}`);
  let written = false;
  const probe = {
    close: () => Promise.resolve(),
    // As it connects, the process stands still; then the bytes would be written.
    poll: async (_signal: AbortSignal, mayWrite: () => boolean = () => true) => {
      await standStill(clock);
      written = mayWrite();
      return {
        exchange: { kind: "broken", fault: "timeout", detail: "", sent: written, head: undefined },
        durationMs: 0,
        phasesMs: {},
        certificateExpiresAtMs: undefined,
        withoutKeys: (text: string) => text,
      } as const;
    },
  };
  const result = await pollOnce(
    UPSTREAM,
    probe,
    { origin: "schedule", atMs: clock.now() },
    decision.lease,
    {
      clock,
      nextPollId: () => "1",
      onBug: (error) => {
        throw error;
      },
    },
    new AbortController().signal,
  );
  // What was not sent says nothing about the upstream.
  expect(result !== undefined).toBe(written);
  return written;
}

/** By SIGSTOP, the monotonic clock goes on; a machine that sleeps wakes to its wall clock alone. */
const STOPPED = (ms: number) => (clock: VirtualClock) => clock.advance(ms);
const ASLEEP = (ms: number) => (clock: VirtualClock) => clock.stepWall(ms);

const NONE = { seat: 0, rest: 0 };
const SEAT = { seat: 0.2 / 3, rest: 0 };
const REST = { seat: 0, rest: 0.8 / 3 };

for (const [how, standStill] of Object.entries({ stopped: STOPPED, asleep: ASLEEP })) {
  test(`a process that was ${how} for as long as it trusts its session writes nothing afterwards`, async () => {
    expect(await isWritten("shard", NONE, standStill(0.8 * TTL_MS - 1))).toBe(true);
    expect(await isWritten("shard", NONE, standStill(0.8 * TTL_MS))).toBe(false);
    expect(await isWritten("everywhere", REST, standStill(0.8 * TTL_MS - 1))).toBe(true);
    expect(await isWritten("everywhere", REST, standStill(0.8 * TTL_MS))).toBe(false);
  });

  test(`with a seat, one that was ${how} goes on within a day, and no longer`, async () => {
    expect(await isWritten("everywhere", SEAT, standStill(23 * HOUR_MS))).toBe(true);
    expect(await isWritten("everywhere", SEAT, standStill(24 * HOUR_MS))).toBe(false);
  });
}
