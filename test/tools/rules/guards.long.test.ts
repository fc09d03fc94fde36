import { expect, test } from "vitest";
import { requireBinary } from "../../support/processes/binaries.ts";
import { DENSITIES, guardsOf } from "./guards.ts";

const promtool = requireBinary("promtool");

test.skipIf(promtool === undefined).each(["one", "fleet", "vantages"] as const)(
  "computes each guard that the proof speaks of, for %s",
  (watchers) => {
    expect(DENSITIES.length).toBeGreaterThan(100);
    expect(guardsOf(watchers, DENSITIES, promtool ?? "")).toContain("SUCCESS");
  },
);
