export type LatencyQuantiles = {
  /** How many polls were counted. */
  readonly polls: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
};

/** By nearest rank: each quantile is a measured duration. */
export function latencyQuantiles(durationsMs: readonly number[]): LatencyQuantiles | undefined {
  const sorted = [...durationsMs].sort((a, b) => a - b);
  const longestMs = sorted.at(-1);
  if (longestMs === undefined) return undefined;
  const at = (quantile: number): number => sorted[Math.ceil(quantile * sorted.length) - 1] ?? longestMs;
  return { polls: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
}
