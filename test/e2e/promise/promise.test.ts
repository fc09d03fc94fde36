import { describe, expect, it } from "vitest";
import { type Counted, crashAtEachRequest, freezeWhilePolled, NAMES } from "./crashes.ts";

/** The promise of docs/promise.md, as the upstream's own clock sees it; crash-loop.long.test.ts takes it to its end. */

describe.concurrent("by its own clock an upstream", () => {
  // A new life waits for one pace gap only, as its predecessors' requests and its own fit the limit.
  it("never counts one too many from a program that crashes at each request, with a share of 50 %", async () => {
    const limit = { requests: 4, perMs: 2_000 };
    const worst = await crashAtEachRequest("50%", limit, 5);
    expect(worst).toBeGreaterThan(0);
    expect(worst).toBeLessThanOrEqual(limit.requests);
  });

  it("that stood still for less than linger never counts one too many", async () => {
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
});
