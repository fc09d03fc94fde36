import type { Violation } from "../judge/violation.ts";

/** What a worker is told once. */
export type Errand = {
  readonly hours: number;
  /** Shared by all: the next seed to run, and the one to stop before. */
  readonly seeds: SharedArrayBuffer;
};

/** What it tells after each seed. */
export type Report = {
  readonly seed: number;
  readonly polls: number;
  readonly lives: number;
  readonly virtualMs: number;
  readonly violation: Violation | undefined;
};
