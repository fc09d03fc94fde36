/** The samples of a scrape: what every format is written from. */

import type { Bytes } from "./bytes.ts";

export type MetricType = "counter" | "gauge" | "histogram" | "summary";

export type Description = {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
};

export type Labels = Readonly<Record<string, string>>;
export const NO_LABELS: Labels = {};

export type Summary = { readonly count: number; readonly sum: number };

/** A summary that also has buckets. */
export type Distribution = Summary & {
  /** The upper bounds that every format can show, beside the one without a bound. */
  readonly bounds: readonly number[];
  /** Cumulative. */
  atOrUnder(boundIndex: number): number;
  /** For formats that know them. */
  readonly exponential?: Exponential | undefined;
};

/** Bucket i counts the values above 2^((i-1)/2^schema), up to 2^(i/2^schema). */
export type Exponential = {
  readonly schema: number;
  /** Values up to this one are counted as zeros. */
  readonly zeroThreshold: number;
  readonly zeroCount: number;
  /** The index of the first of the counts. */
  readonly first: number;
  readonly counts: readonly number[];
};

export type Value = number | Summary | Distribution;

/** Visits each bucket, the one without a bound last. An exemplar stands in the first that counts it. */
export function eachBucket(
  value: Distribution,
  exemplar: Exemplar | undefined,
  visit: (bound: number, count: number, exemplar: Exemplar | undefined) => void,
): void {
  let pending = exemplar;
  for (let index = 0; index <= value.bounds.length; index += 1) {
    const bound = value.bounds[index] ?? Infinity;
    const isHere = pending !== undefined && pending.value <= bound;
    visit(bound, value.atOrUnder(index), isHere ? pending : undefined);
    if (isHere) pending = undefined;
  }
}

/** One event among those that were counted. */
export type Exemplar = { readonly labels: Labels; readonly value: number; readonly atMs: number };

export type Sample = {
  /** In addition to those of what the sample belongs to. */
  readonly labels: Labels;
  readonly value: Value;
  /** Wall clock; of what is counted. It was 0 then. */
  readonly startedAtMs?: number | undefined;
  readonly exemplar?: Exemplar | undefined;
};

export interface Format {
  /** Written once for many samples. */
  labels(out: Bytes, labels: Labels): void;
  /** `common` are the labels of what the sample belongs to, as `labels` has written them. */
  sample(out: Bytes, metric: Description, common: Uint8Array, sample: Sample): void;
  /** What stands before so many bytes of samples of a metric. */
  head(metric: Description, samplesBytes: number): Uint8Array;
  readonly end: Uint8Array;
}
