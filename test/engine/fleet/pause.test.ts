import { expect, test } from "vitest";
import { SharedLedger } from "../../../src/engine/fleet/shared-ledger.ts";
import { sampleFleet } from "../../support/ledger-worlds.ts";
import { sampleAdvice, sampleBudget, sampleConfig, sampleUpstream } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { VirtualRedis, VirtualStore } from "../../support/virtual/redis.ts";

const CONFIG = sampleConfig({
  budgets: [sampleBudget({ share: 1, rates: [{ requests: 600, perMs: 10_000, label: "10s" }] })],
  upstreams: [sampleUpstream({ timeoutMs: 1_000 })],
});
const REFUSED = sampleAdvice({
  throttled: true,
  pause: { scope: "budget", forMs: 60_000, source: "retry_after" },
});

test.each([
  ["grants the lease", false],
  ["goes away meanwhile", true],
])(
  "a refusal that another poll hears while Redis is asked holds back who asked, also where Redis %s",
  async (_what, isCut) => {
    const clock = new VirtualClock();
    const store = new VirtualStore(new VirtualRedis(clock), clock, () => 100);
    const onBug = (error: unknown): never => {
      throw error;
    };
    const fleet = sampleFleet({ reserve: 0.5 });
    const ledger = new SharedLedger(CONFIG, { fleet, store, clock, life: "life", onBug });
    await clock.advance(60_000);
    const asked = ledger.take(["api"]);
    await clock.advance(150);
    ledger.applyAdvice(["api"], REFUSED);
    if (isCut) store.cut();
    await clock.advance(1_000);
    expect(await asked).toMatchObject({ kind: "wait", cause: "backoff" });
    store.mend();
    const closed = ledger.close();
    await clock.advance(2_000);
    await closed;
    expect(ledger.state("api")?.rates[0]?.leases).toBe(0);
  },
);
