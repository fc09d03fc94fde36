import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** All texts of its answers that are in memory: failures, their evidence, limits, an announcement. */
const KEPT_BYTES_AN_UPSTREAM = 20_000;

/** Without the copies in `withSafeTexts`, `exemplarOf` and `keptTexts` it was 72 kB: a part of a text keeps the whole of it. */
test("of all that the answers of one upstream said, a bounded number of bytes stays in memory", async () => {
  const main = new URL("./kept-main.ts", import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, [main]);
  const { bytes }: { readonly bytes: number } = JSON.parse(stdout);
  expect(bytes).toBeLessThanOrEqual(KEPT_BYTES_AN_UPSTREAM);
  // Failures, limits and an announcement are kept: it sees them.
  expect(bytes).toBeGreaterThan(5_000);
});
