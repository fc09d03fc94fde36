import { expect, test } from "vitest";
import { Quotas } from "../../../src/core/budget/quotas.ts";
import { Holdings } from "../../../src/core/fleet/holdings.ts";
import { momentOf } from "../../../src/core/time/moment.ts";
import { FleetLedger } from "../../../src/engine/fleet/fleet-ledger.ts";
import { VirtualBoards } from "../../support/fleet-world.ts";
import { sampleBudget, sampleConfig, sampleFleet, sampleUpstream } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const TTL_MS = 10_000;
const HOUR_MS = 3_600_000;
const [SEAT, REST] = [0.2 / 3, 0.8 / 3];

test("a replica asks for a seat and a part, and says which of them it may use by its own clock", async () => {
  const clock = new VirtualClock();
  const holdings = new Holdings({ name: "one", boot: "boot", ttlMs: TTL_MS }, clock);
  const rates = [{ requests: 60, perMs: 10_000, label: "10s" }];
  const ledger = new FleetLedger(
    sampleConfig({
      budgets: [sampleBudget({ rates, lingerMs: 1_000 })],
      upstreams: [sampleUpstream({ budgets: ["api"], timeoutMs: 2_000 })],
    }),
    {
      fleet: sampleFleet({ mode: "everywhere", replicas: 3, reserve: 0.2, ttlMs: TTL_MS }),
      board: new VirtualBoards(clock).boardFor(() => false),
      holdings,
      clock,
      quotas: new Quotas(clock),
      onBug: (error) => {
        throw error;
      },
    },
  );
  const has = (): unknown => ledger.wants()?.has;
  expect(ledger.wants()).toMatchObject({ has: { seat: 0, rest: 0 } });
  expect(ledger.wants()?.seat).toBeCloseTo(SEAT);
  expect(ledger.wants()?.rest).toBeCloseTo(REST);
  // Window, timeout and linger, with a margin.
  expect(ledger.wants()?.forgottenMs).toBeGreaterThanOrEqual(13_000);
  expect(ledger.wants()?.forgottenMs).toBeLessThan(13_100);
  holdings.renew(momentOf(clock));
  ledger.granted({ seat: SEAT, rest: REST, isAnew: false, isMixed: false }, momentOf(clock));
  expect(has()).toEqual({ seat: SEAT, rest: REST });
  await clock.advance(TTL_MS);
  expect(has()).toEqual({ seat: SEAT, rest: 0 });
  await clock.advance(24 * HOUR_MS);
  expect(has()).toEqual({ seat: 0, rest: 0 });
});
