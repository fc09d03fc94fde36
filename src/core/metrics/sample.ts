/** The samples of a scrape: what every format is written from. */

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

/** Each bucket, the one without a bound last. An exemplar stands in the first that counts it. */
export function* bucketsOf(
  value: Distribution,
  exemplar: Exemplar | undefined,
): Generator<{ readonly bound: number; readonly count: number; readonly exemplar: Exemplar | undefined }> {
  let pending = exemplar;
  for (let index = 0; index <= value.bounds.length; index += 1) {
    const bound = value.bounds[index] ?? Infinity;
    const isHere = pending !== undefined && pending.value <= bound;
    yield { bound, count: value.atOrUnder(index), exemplar: isHere ? pending : undefined };
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

/** Takes the samples of one metric, in the format that was asked for. */
export interface FamilyWriter {
  /** `common` are the labels of what the sample belongs to, as `Format` has written them. */
  add(common: Uint8Array, sample: Sample): void;
  /** All of them, with what stands before them; nothing where there is no sample. */
  written(): Uint8Array;
}

export interface Format {
  /** Written once for many samples. */
  labels(labels: Labels): Uint8Array;
  family(description: Description): FamilyWriter;
  readonly end: Uint8Array;
}
