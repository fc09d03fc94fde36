/** Buckets are cumulative. The one after the last bound is +Inf and equals the count. */
export interface HistogramReading {
  readonly bounds: readonly number[];
  readonly count: number;
  readonly sum: number;
  atOrUnder(boundIndex: number): number;
}

/** How many numbers a histogram has: a bucket for each bound, +Inf, and the sum. */
export function histogramLength(bounds: readonly number[]): number {
  return bounds.length + 2;
}

/** A view on numbers that are kept elsewhere. */
export class Histogram implements HistogramReading {
  readonly bounds: readonly number[];
  readonly #numbers: Float64Array;
  readonly #from: number;

  constructor(
    bounds: readonly number[],
    numbers: Float64Array = new Float64Array(histogramLength(bounds)),
    from: number = 0,
  ) {
    this.bounds = bounds;
    this.#numbers = numbers;
    this.#from = from;
  }

  get count(): number {
    return this.atOrUnder(this.bounds.length);
  }

  get sum(): number {
    return this.#numbers[this.#from + this.bounds.length + 1] ?? 0;
  }

  atOrUnder(boundIndex: number): number {
    return boundIndex < 0 ? 0 : (this.#numbers[this.#from + boundIndex] ?? 0);
  }

  observe(value: number): void {
    observeIn(this.#numbers, this.#from, this.bounds, value);
  }
}

/** Without a view, for those who count with every poll. */
export function observeIn(
  numbers: Float64Array,
  from: number,
  bounds: readonly number[],
  value: number,
): void {
  const sumAt = from + bounds.length + 1;
  let index = bounds.length;
  do {
    numbers[from + index] = (numbers[from + index] ?? 0) + 1;
    index -= 1;
  } while (value <= (bounds[index] ?? Number.NEGATIVE_INFINITY));
  numbers[sumAt] = (numbers[sumAt] ?? 0) + value;
}

/** Stands for undefined in arrays of numbers. */
export const UNKNOWN: number = Number.NaN;

export function known(number: number | undefined): number | undefined {
  return number === undefined || Number.isNaN(number) ? undefined : number;
}
