import type { Dialect } from "../../src/simulator/dialects.ts";

/** Of an upstream that tells nothing of its limits, not even when it refuses. */
export const silent: Dialect = () => ({});
