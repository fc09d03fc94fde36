/** The samples of a scrape: what every format is written from. */

import type { Bytes } from "../../exposition/bytes.ts";
import type { Exemplar, Histogram } from "./histogram.ts";

export type MetricType = "counter" | "gauge" | "histogram" | "summary";

export type Description = {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
};

export type Labels = Readonly<Record<string, string>>;
export const NO_LABELS: Labels = {};

type Counted = Readonly<Pick<Histogram, "count" | "sum">>;
export type Summary = Counted & { readonly bounds?: undefined };

/** A summary that also has buckets: those that every format can show, and others for formats that know them. */
export type Distribution = Counted &
  Readonly<Pick<Histogram, "bounds" | "counts"> & Partial<Pick<Histogram, "exponential">>>;

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
    visit(bound, value.counts[index] ?? value.count, isHere ? pending : undefined);
    if (isHere) pending = undefined;
  }
}

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
  sample(out: Bytes, metric: Description, common: Bytes, sample: Sample): void;
  /** What stands before so many bytes of samples of a metric. */
  head(metric: Description, samplesBytes: number): Uint8Array;
  readonly end: Uint8Array;
}
