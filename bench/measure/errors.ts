import type { Probed } from "../programs/load.ts";
import type { Served } from "../programs/clock-upstream.ts";

/** A poll as Pacewatch's API tells it. */
export type ToldPoll = { readonly upstream: number; readonly atMs: number; readonly durationMs: number };

/** By how much the measured latencies are above what the upstream's own clock says, in milliseconds, in the order of the probes. */
export function errorsOfProbes(probed: readonly Probed[], served: readonly Served[]): readonly number[] {
  const byNumber = new Map(served.map((each) => [Number(/\?n=(\d+)/.exec(each.path)?.[1]), each]));
  return probed.flatMap(({ number, durationMs }) => {
    const clock = byNumber.get(number);
    return clock === undefined ? [] : [durationMs - clock.durationMs];
  });
}

/** An upstream's requests are far apart, so the nearest in time is the one. */
export function errorsOfPolls(
  polls: readonly ToldPoll[],
  served: readonly Served[],
  nearMs: number,
): readonly number[] {
  const byUpstream = Map.groupBy(served, ({ path }) => Number(/^\/u(\d+)\//.exec(path)?.[1]));
  return polls.flatMap(({ upstream, atMs, durationMs }) => {
    const distance = (each: Served): number => Math.abs(each.atMs - atMs);
    const [clock] = (byUpstream.get(upstream) ?? []).toSorted((a, b) => distance(a) - distance(b));
    return clock === undefined || distance(clock) > nearMs ? [] : [durationMs - clock.durationMs];
  });
}

/** Cut into so many, of as equal a length as can be. */
export function partsOf<T>(values: readonly T[], parts: number): readonly (readonly T[])[] {
  return Array.from({ length: parts }, (_, part) =>
    values.slice(
      Math.round((part * values.length) / parts),
      Math.round(((part + 1) * values.length) / parts),
    ),
  );
}
