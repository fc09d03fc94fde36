import { expect, test } from "vitest";
import { staleFiles } from "../../tools/generate.ts";

test("the generated files are what the code generates: if not, run node tools/generate.ts", async () => {
  expect(await staleFiles()).toEqual([]);
});
