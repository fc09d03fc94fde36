import { expect, test } from "vitest";
import { openConfigFolder } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { valueOf } from "./daemon.ts";
import { AT_MOST, configOf, spentIn, startRouter } from "./spending.ts";

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
  const [budget] = JSON.parse(body).budgets;
  expect(budget.spend).toMatchObject({ limit: spend, currency: "EUR", unconfirmed: 0 });
  const monthMs = 30 * 86_400_000;
  expect(budget.spend.noRoomUntilMs - Date.now()).toBeGreaterThan(monthMs - 60_000);
  expect(budget.spend.noRoomUntilMs - Date.now()).toBeLessThan(monthMs + 3_700_000);
  const usedUp = /0\.00\d+ of 0\.0025 EUR used in 30 d; there is room again on \d{4}-/;
  const { sentence } = budget.quotas.find(({ quota }: { quota: string }) => quota === "spend");
  expect(sentence).toMatch(usedUp);
  const skipping = daemon.logs.find(
    ({ msg, cause }) => msg === "slots are being skipped" && cause === "quota",
  );
  expect(skipping).toMatchObject({ detail: expect.stringMatching(usedUp) });
  expect((await daemon.get("/")).body).toMatch(usedUp);
  expect((await daemon.get("/")).body).toMatch(/of our spend of <b>[\d.]+<.b>\s+EUR\s+used in/);
  daemon.kill("SIGTERM");
  await daemon.exited;
  expect(spentIn(folder).counted).toBeCloseTo(router.cost, 9);
}, 60_000);
