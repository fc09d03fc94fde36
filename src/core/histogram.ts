/** A reading of a histogram: buckets are cumulative, the one after the last bound is +Inf and equals the count. */
export interface HistogramReading {
  readonly bounds: readonly number[];
  readonly count: number;
  readonly sum: number;
  atOrUnder(boundIndex: number): number;
}

export class Histogram implements HistogramReading {
  readonly bounds: readonly number[];
  readonly #atOrUnder: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#atOrUnder = new Float64Array(bounds.length + 1);
  }

  get count(): number {
    return this.atOrUnder(this.bounds.length);
  }

  get sum(): number {
    return this.#sum;
  }

  atOrUnder(boundIndex: number): number {
    return this.#atOrUnder[boundIndex] ?? 0;
  }

  observe(value: number): void {
    const first = this.bounds.findIndex((bound) => value <= bound);
    for (let index = first === -1 ? this.bounds.length : first; index <= this.bounds.length; index += 1) {
      this.#atOrUnder[index] = this.atOrUnder(index) + 1;
    }
    this.#sum += value;
  }
}
