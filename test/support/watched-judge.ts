/**
 * The second computation of what was watched, and of how much of it failed: from an upstream's own ledger of requests and the schedules that were in
 * force, second by second, and in no way that the daemon uses. It imports nothing of ours.
 */

export type Reached = {
  /** When it reached the upstream, by a clock that never steps. */
  readonly atMs: number;
  /** Whether it was served; undefined where the upstream declined to serve us, which says nothing about it. */
  readonly served: boolean | undefined;
  /** Between two slots of the schedule that it was sent by. */
  readonly gapMs: number;
};

export type Recount = {
  readonly ok: number;
  readonly failed: number;
  readonly watchedMs: number;
  readonly failedMs: number;
};

const SECOND_MS = 1_000;

/** What was seen by the requests that arrived in [fromMs, toMs), of a ledger that begins before it. */
export function recount(ledger: readonly Reached[], fromMs: number, toMs: number): Recount {
  return recountOf(ledger, (atMs) => atMs >= fromMs && atMs < toMs);
}

/** The same of any moments. */
export function recountOf(ledger: readonly Reached[], isThen: (atMs: number) => boolean): Recount {
  const beganMs = ledger[0]?.atMs ?? 0;
  const secondOf = (atMs: number): number => Math.round((atMs - beganMs) / SECOND_MS);
  const painted = new Uint8Array(secondOf(ledger.at(-1)?.atMs ?? beganMs) + 1);
  const counts = { ok: 0, failed: 0, watchedMs: 0, failedMs: 0 };
  let isFirst = true;
  for (const { atMs, served, gapMs } of ledger) {
    if (served === undefined) continue;
    const isIn = isThen(atMs);
    if (isIn) counts[served ? "ok" : "failed"] += 1;
    // Backwards, to the last second that a request before it has seen.
    const last = secondOf(atMs);
    const oldest = isFirst ? last : Math.max(0, last - gapMs / SECOND_MS + 1);
    for (let second = last; second >= oldest && painted[second] === 0; second -= 1) {
      painted[second] = 1;
      if (!isIn || isFirst) continue;
      counts.watchedMs += SECOND_MS;
      if (!served) counts.failedMs += SECOND_MS;
    }
    isFirst = false;
  }
  return counts;
}
