import type { Exemplar } from "../kernel/metrics/histogram.ts";
import type { Description, Distribution, Labels, Sample } from "../kernel/metrics/family.ts";
import type { Bytes } from "./bytes.ts";

export interface Format {
  /** Written once for many samples. */
  labels(out: Bytes, labels: Labels): void;
  /** `common` are the labels of what the sample belongs to, as `labels` has written them. */
  sample(out: Bytes, metric: Description, common: Bytes, sample: Sample): void;
  /** It stands before so many bytes of samples of a metric. */
  head(metric: Description, samplesBytes: number): Uint8Array;
  readonly end: Uint8Array;
}

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
    visit(bound, value.counts[index] ?? value.count, isHere ? pending : undefined);
    if (isHere) pending = undefined;
  }
}
