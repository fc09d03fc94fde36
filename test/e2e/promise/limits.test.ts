import { expect, it } from "vitest";
import { ALGORITHMS } from "../../support/algorithms.ts";
import { expectWithinLimits, saturate, unevenWayTo, upstream } from "./saturation.ts";

const LIMIT = { requests: 20, perMs: 2_000 };
/** As many as fit into three windows: by then any of them may have been exceeded. */
const THREE_WINDOWS = 3 * LIMIT.requests;

it("an upstream of whose limit our share is taken as fast as it is given never counts one request too many by its fixed window", async () => {
  const algorithm = ALGORITHMS.fixed_window;
  await using simulated = await upstream({ limits: [LIMIT], algorithm });
  await using way = await unevenWayTo(simulated);
  const isOver = (): boolean => simulated.requests >= THREE_WINDOWS;
  const recorders = await saturate(way, { limits: [LIMIT], connection: "reuse", isOver });
  expectWithinLimits(simulated);
  expect(simulated.violations).toBe(0);
  for (const recorder of recorders) expect(recorder.closes()).toBe(true);
});
