import type { Equivalent } from "./choose.ts";

/** Each was looked at: no test can see it, as nobody can. */
export const EQUIVALENTS: readonly Equivalent[] = [
  {
    file: "src/core/time/duration.ts",
    text: "return unit !== undefined && Object.hasOwn(UNITS_MS, unit);",
    change: "&& becomes ||",
    why: "the expression before it lets only units through; this line tells the compiler",
  },
  {
    file: "src/engine/poll/token-source.ts",
    text: "if (head === undefined) return 0;",
    change: "0 becomes 1",
    why: "a pause of a millisecond is over long before the next request is due, a minute later",
  },
];
