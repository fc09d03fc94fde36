import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { BESIDE, changedBy } from "./neutral.ts";

const ALL = readdirSync(new URL("../fixtures/refusals/", import.meta.url));

test.each(BESIDE)("a neutral sentence %s changes no verdict of all answers that we have", (_, beside) => {
  const { changed, tried } = changedBy(beside, ALL);
  expect(tried).toBeGreaterThan(1_000);
  expect(changed).toEqual([]);
});
