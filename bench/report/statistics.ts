/** What several measurements of one thing say. */
export type Summary = {
  readonly min: number;
  readonly median: number;
  readonly max: number;
  readonly values: readonly number[];
};

export function summaryOf(values: readonly number[]): Summary {
  return { min: quantile(values, 0), median: quantile(values, 0.5), max: quantile(values, 1), values };
}

/** Between two values in proportion, as most tools have it; NaN of nothing. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * part;
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  if (below === undefined || above === undefined) return Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/** Each with the other of its own round: what slowed both is divided away. */
export function pairedRatios(ours: readonly number[], theirs: readonly number[]): readonly number[] {
  if (ours.length !== theirs.length) {
    throw new Error(`cannot pair: "theirs" must have ${ours.length} values, received ${theirs.length}`);
  }
  return ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
}

/** How far a run's own values lie around their middle: half of what is between the least and the most. */
export function noiseOf({ min, max }: Summary): number {
  return (max - min) / 2;
}

export type Interval = { readonly low: number; readonly high: number; readonly confidence: number };

/**
 * Where the true median lies, whatever the values are scattered like: it is below all of n values, or above all, only as
 * often as a coin falls n times on one side. The narrowest interval between two of them that is at least that sure; of
 * few values the widest there is, and how sure that is.
 */
export function medianInterval(values: readonly number[], sure = 0.95): Interval {
  const sorted = [...values].sort((a, b) => a - b);
  const count = sorted.length;
  let chance = 0.5 ** count;
  let outside = 2 * chance;
  let cut = 0;
  for (; 2 * (cut + 1) < count - 1; cut += 1) {
    chance *= (count - cut) / (cut + 1);
    if (1 - outside - 2 * chance < sure) break;
    outside += 2 * chance;
  }
  return {
    low: sorted[cut] ?? Number.NaN,
    high: sorted[count - 1 - cut] ?? Number.NaN,
    confidence: Math.max(0, 1 - outside),
  };
}
