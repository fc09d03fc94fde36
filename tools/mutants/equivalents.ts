import type { Equivalent } from "./choose.ts";

/** Each was looked at: no test can see it, as nobody can. */
export const EQUIVALENTS: readonly Equivalent[] = [
  {
    file: "src/core/time/duration.ts",
    text: "return unit !== undefined && Object.hasOwn(UNITS_MS, unit);",
    change: "&& becomes ||",
    why: "the expression before it lets only units through; this line tells the compiler",
  },
];
