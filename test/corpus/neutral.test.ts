import { expect, test } from "vitest";
import { BESIDE, changedBy } from "./neutral.ts";

/** Two sets, each gathered by somebody else, with good answers among them. */
const SETS = ["unseen.jsonl", "round-12.jsonl"];

test.each(BESIDE)("a neutral sentence %s changes no verdict", (_, beside) => {
  const { changed, tried } = changedBy(beside, SETS);
  expect(tried).toBeGreaterThan(100);
  expect(changed).toEqual([]);
});
