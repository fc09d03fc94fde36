import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { configTarget } from "./config.ts";
import { headersTarget } from "./headers.ts";
import { responsesTarget } from "./responses.ts";
import type { Target } from "./target.ts";
import { webConfigTarget } from "./web-config.ts";

/** The long run is `npm run fuzz`: it takes another seed each time. */
const SEED = 20_261_121;

function isFuzzed<Case>({ name, cases, kept, open }: Target<Case>, runs: number): void {
  describe(`the parser of ${name}`, () => {
    test.for(kept)("keeps its promises for %s", async ([, bytes]) => {
      await using session = await open();
      await expect(session.check(bytes)).resolves.toBeUndefined();
    });

    test(`keeps its promises for ${runs} garbled inputs`, async () => {
      await using session = await open();
      const found = await fc.check(fc.asyncProperty(cases, session.check), { seed: SEED, numRuns: runs });
      expect(fc.defaultReportMessage(found)).toBeUndefined();
    });
  });
}

isFuzzed(headersTarget, 30_000);
isFuzzed(webConfigTarget, 500);
isFuzzed(configTarget, 1_000);
isFuzzed(responsesTarget, 1_000);

test("a broken promise is seen", async () => {
  const broken = fc.asyncProperty(headersTarget.cases, async ({ text }) => {
    if (text.includes("RateLimit")) throw new Error("found");
  });
  expect((await fc.check(broken, { seed: SEED })).failed).toBe(true);
});
