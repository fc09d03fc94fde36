/** A value that was looked at again and again. */
export type Look = { readonly atMs: number; readonly value: number };

export type Trend = {
  readonly mean: number;
  /** What the straight line through all looks gains from the first to the last, as a part of the mean. */
  readonly growth: number;
  /** The standard error of `growth`: how much of it is the noise's. */
  readonly error: number;
};

/** Least squares. */
export function trendOf(looks: readonly Look[]): Trend {
  const first = looks[0];
  const last = looks.at(-1);
  if (first === undefined || last === undefined) throw new Error("cannot see a trend: there must be looks");
  const meanAtMs = average(looks.map(({ atMs }) => atMs));
  const mean = average(looks.map(({ value }) => value));
  const spread = sum(looks.map(({ atMs }) => (atMs - meanAtMs) ** 2));
  if (spread === 0 || mean === 0) return { mean, growth: 0, error: 0 };
  const slope = sum(looks.map(({ atMs, value }) => (atMs - meanAtMs) * (value - mean))) / spread;
  const squares = sum(looks.map(({ atMs, value }) => (value - mean - slope * (atMs - meanAtMs)) ** 2));
  const slopeError = looks.length > 2 ? Math.sqrt(squares / (looks.length - 2) / spread) : 0;
  const lengthMs = last.atMs - first.atMs;
  return { mean, growth: (slope * lengthMs) / mean, error: (slopeError * lengthMs) / mean };
}

export function secondHalf(looks: readonly Look[]): readonly Look[] {
  const first = looks[0]?.atMs ?? 0;
  const last = looks.at(-1)?.atMs ?? 0;
  return looks.filter(({ atMs }) => atMs >= (first + last) / 2);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function average(values: readonly number[]): number {
  return sum(values) / values.length;
}
