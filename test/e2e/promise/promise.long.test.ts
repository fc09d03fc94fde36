import { expect, it } from "vitest";
import { type Counted, freezeWhilePolled, NAMES } from "./crashes.ts";

/** The promise of docs/promise.md, as the upstream's own clock sees it; crash-loop.long.test.ts takes it to its end. */

it("by its own clock an upstream that stood still for less than linger never counts one too many", async () => {
  const stoodStill = (): Promise<Counted> => freezeWhilePolled("8s", NAMES.length / 2);
  let counted = await stoodStill();
  while (counted.stoodStillMs >= 8_000) counted = await stoodStill();
  const { worst, abandoned } = counted;
  process.stdout.write(
    `stood still, linger 8s: ${abandoned} given up on, ${worst} of 20 counted in one window\n`,
  );
  expect(abandoned).toBeGreaterThanOrEqual(NAMES.length / 2);
  expect(worst).toBeLessThanOrEqual(NAMES.length);
});
