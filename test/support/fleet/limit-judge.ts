import type { SeenRequest } from "./witness.ts";

/** What a budget's owner allows. */
export type Allowed = { readonly requests: number; readonly perMs: number };

/** The most in any window of this length, wherever it begins. The times rise. */
export function busiestWindow(timesMs: readonly number[], perMs: number): number {
  let busiest = 0;
  let first = 0;
  timesMs.forEach((atMs, index) => {
    while ((timesMs[first] ?? atMs) <= atMs - perMs) first += 1;
    busiest = Math.max(busiest, index - first + 1);
  });
  return busiest;
}

/** By budget, from all replicas together. */
export function busiestWindows(seen: readonly SeenRequest[], perMs: number): ReadonlyMap<string, number> {
  const budgets = Map.groupBy(seen, ({ budget }) => budget);
  return new Map(
    [...budgets].map(([budget, requests]) => {
      const timesMs = requests.map(({ atMs }) => atMs).toSorted((a, b) => a - b);
      return [budget, busiestWindow(timesMs, perMs)];
    }),
  );
}

/** One sentence for each budget that was overdrawn: none, ever. */
export function limitFaults(seen: readonly SeenRequest[], { requests, perMs }: Allowed): readonly string[] {
  return [...busiestWindows(seen, perMs)]
    .filter(([, busiest]) => busiest > requests)
    .map(([budget, busiest]) => `${budget}: ${busiest} of ${requests} requests in ${perMs} ms`);
}
