import { expect, test } from "vitest";
import { startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { valueOf } from "./daemon.ts";
import { AT_MOST, killedSoOften } from "./spending.ts";

const SPEND = 0.05;

// Each waits for answers most of the time, so both are done in that of one. They are killed at different moments.
test.concurrent.each([
  { from: 0, until: 100 },
  { from: 100, until: 200 },
])(
  "100 kills and restarts never spend too much, by the router's own bill, and all of it is used (lives $from to $until)",
  async (lives) => {
    await killedSoOften(lives, SPEND, async ({ router, folder }) => {
      await using last = await startDaemon({ configPath: folder.path });
      const used = await eventually(
        "the spend is used up",
        () => valueOf(last, "pacewatch_budget_spend_used", { budget: "api" }),
        (spent = 0) => spent > SPEND - AT_MOST,
      );
      expect(used).toBeLessThanOrEqual(SPEND);
      expect(router.cost).toBeLessThanOrEqual(SPEND);
    });
  },
  1_200_000,
);
