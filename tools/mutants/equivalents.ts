import type { Equivalent } from "./choose.ts";

/** Each was looked at: no test can see it, as nobody can. */
export const EQUIVALENTS: readonly Equivalent[] = [];
