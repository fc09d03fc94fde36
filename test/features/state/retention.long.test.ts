import { statSync } from "node:fs";
import { expect, test } from "vitest";
import { StateFile } from "../../../src/features/state/file.ts";
import { NOW_MS, recordDays, StateBench } from "./bench.ts";

test("its size stays what it is: the next days add nothing to what the first ones took", async () => {
  await using bench = await StateBench.make();
  const file = new StateFile(bench.path);
  file.open(NOW_MS);
  const sizeNow = (): number => statSync(bench.path).size;
  const polls = "SELECT sum(pgsize) AS bytes FROM dbstat WHERE name LIKE '%polls%' OR name LIKE '%failures%'";
  const firstEndMs = recordDays(file, NOW_MS, 3, 15_000);
  const before = { size: sizeNow(), polls: Number(bench.query(polls)[0]?.["bytes"]) };
  recordDays(file, firstEndMs, 3, 15_000);
  expect(Number(bench.query(polls)[0]?.["bytes"])).toBeLessThan(before.polls * 1.05);
  // Minutes and hours still grow, as they are kept for longer.
  expect(sizeNow()).toBeLessThan(before.size * 1.5);
  file.close();
});
