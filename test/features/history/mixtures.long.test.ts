import { expect, test } from "vitest";
import { worstForecasts } from "./mixtures.ts";

test.each([20_261_122, 7, 99])(
  "of a thousand mixtures of servers that lag (seed %d), the forecast of each is right to 10 % after an hour",
  { timeout: 300_000 },
  (seed) => {
    const { worsts, judged } = worstForecasts(seed, 1_000);
    expect(judged).toBeGreaterThan(50_000);
    expect(Math.max(...worsts)).toBeLessThan(0.1);
  },
);
