import { expect, test } from "vitest";
import { openConfigFolder } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { valueOf } from "./daemon.ts";
import { AT_MOST, configOf, killedSoOften, spentIn, startRouter } from "./spending.ts";

test("killed four times, it has spent no more than it counts, by the router's own bill", async () => {
  await killedSoOften(4, 0.2, async ({ spent }) => {
    expect(spent.counted).toBeGreaterThan(0);
  });
}, 60_000);

test("what the answers cost is what the router bills, until one more poll would be too dear", async () => {
  await using router = await startRouter();
  const spend = 0.0025;
  await using folder = await openConfigFolder(configOf(router.url, spend));
  await using daemon = await startDaemon({ configPath: folder.path });
  // What is in flight holds back the next poll by the most that it may cost, and gives back what it did not.
  await eventually(
    "there is too little left for one more poll",
    () => router.cost,
    (cost) => cost > spend - AT_MOST,
  );
  for (const upstream of ["first", "second"]) {
    await eventually(
      "no poll is in flight",
      () => valueOf(daemon, "pacewatch_polls_in_flight", { upstream }),
      (inFlight) => inFlight === 0,
    );
    await eventually(
      "its polls have stopped for want of money",
      () => valueOf(daemon, "pacewatch_polls_skipped_total", { upstream, cause: "quota" }),
      (skipped = 0) => skipped > 0,
    );
  }
  const labels = { currency: "EUR" };
  const ofEach = await Promise.all(
    ["first", "second"].map((upstream) => valueOf(daemon, "pacewatch_spend_total", { upstream, ...labels })),
  );
  expect(ofEach.reduce((sum: number, each = 0) => sum + each, 0)).toBeCloseTo(router.cost, 9);
  expect(await valueOf(daemon, "pacewatch_budget_spend_used", labels)).toBeCloseTo(router.cost, 9);
  expect(await valueOf(daemon, "pacewatch_budget_spend_limit", labels)).toBe(spend);
  const emptyAt = { budget: "api", quota: "spend", window: "1h" };
  expect(
    await valueOf(daemon, "pacewatch_budget_quota_empty_timestamp_seconds", emptyAt),
  ).toBeLessThanOrEqual(Date.now() / 1_000);
  const { body } = await daemon.get("/api/v1/upstreams/first");
  expect(JSON.parse(body).budgets[0].spend).toMatchObject({ limit: spend, currency: "EUR", unconfirmed: 0 });
  expect((await daemon.get("/")).body).toMatch(/of our spend of <b>[\d.]+<.b>\s+EUR\s+used in/);
  daemon.kill("SIGTERM");
  await daemon.exited;
  expect(spentIn(folder).counted).toBeCloseTo(router.cost, 9);
}, 60_000);
