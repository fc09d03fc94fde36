import { expect, test } from "vitest";
import { startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { valueOf } from "./daemon.ts";
import { AT_MOST, killedSoOften } from "./spending.ts";

const SPEND = 0.1;

test("200 kills and restarts never spend too much, by the router's own bill, and all of it is used", async () => {
  await killedSoOften(200, SPEND, async ({ router, folder }) => {
    await using last = await startDaemon({ configPath: folder.path });
    const used = await eventually(
      "the spend is used up",
      () => valueOf(last, "pacewatch_budget_spend_used", { budget: "api" }),
      (spent = 0) => spent > SPEND - AT_MOST,
    );
    expect(used).toBeLessThanOrEqual(SPEND);
    expect(router.cost).toBeLessThanOrEqual(SPEND);
  });
}, 1_200_000);
