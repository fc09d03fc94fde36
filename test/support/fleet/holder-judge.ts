import type { SeenRequest } from "./witness.ts";

/** A stretch in which one life of one replica polled an upstream again and again. */
export type Stretch = {
  readonly upstream: string;
  readonly life: string;
  /** From its first request's coming until its last one's end. */
  readonly fromMs: number;
  readonly untilMs: number;
  readonly requests: number;
};

/** Longer silence than this many periods, and somebody else may have led in between. */
const SILENT_PERIODS = 1.5;

/** What each life polled, as far as its requests tell: whatever others did meanwhile. */
function stretchesOf(seen: readonly SeenRequest[], periodMs: number): readonly Stretch[] {
  const stretches: Stretch[] = [];
  for (const requests of Map.groupBy(inOrder(seen), ({ upstream, life }) => `${upstream} ${life}`).values()) {
    let open: (Stretch & { lastMs: number }) | undefined;
    for (const { upstream, life, atMs, endedAtMs } of requests) {
      if (open === undefined || atMs - open.lastMs > SILENT_PERIODS * periodMs) {
        if (open !== undefined) stretches.push(open);
        open = { upstream, life, fromMs: atMs, untilMs: endedAtMs, requests: 1, lastMs: atMs };
      } else {
        const untilMs = Math.max(open.untilMs, endedAtMs);
        open = { ...open, untilMs, requests: open.requests + 1, lastMs: atMs };
      }
    }
    if (open !== undefined) stretches.push(open);
  }
  return stretches;
}

/**
 * Where two held an upstream at once: one sentence each. A poll of one in between two polls of another that come
 * one period after the other, or while one of another's is not answered yet, is enough.
 */
export function holderFaults(seen: readonly SeenRequest[], periodMs: number): readonly string[] {
  const faults: string[] = [];
  for (const [upstream, stretches] of Map.groupBy(
    stretchesOf(seen, periodMs),
    (stretch) => stretch.upstream,
  )) {
    const sorted = stretches.toSorted((a, b) => a.fromMs - b.fromMs);
    sorted.forEach((earlier, index) => {
      for (const later of sorted.slice(index + 1)) {
        if (later.life === earlier.life || later.fromMs >= earlier.untilMs) continue;
        const togetherMs = Math.min(earlier.untilMs, later.untilMs) - later.fromMs;
        faults.push(
          `${upstream}: ${earlier.life} and ${later.life} both polled it for ${togetherMs.toFixed(0)} ms`,
        );
      }
    });
  }
  return faults;
}

function inOrder(seen: readonly SeenRequest[]): readonly SeenRequest[] {
  return seen.toSorted((a, b) => a.atMs - b.atMs);
}
