import type { SeenRequest } from "./witness.ts";

/** A stretch in which one life of one replica polled an upstream again and again. */
export type SessionValidity = {
  readonly upstream: string;
  readonly life: string;
  /** From its first request's coming until its last one's end. */
  readonly fromMs: number;
  readonly untilMs: number;
  readonly requests: number;
};

/** An upstream's polls pass from one life to another. */
export type Handover = {
  readonly upstream: string;
  readonly from: string;
  readonly to: string;
  /** When the last request of the one and the first one of the other came. */
  readonly lastMs: number;
  readonly firstMs: number;
};

/** Longer silence than this many periods, and it may have let go in between. */
const SILENT_PERIODS = 1.5;

/** What each life held, as far as its requests tell: whatever others did meanwhile. */
export function tenuresOf(seen: readonly SeenRequest[], periodMs: number): readonly SessionValidity[] {
  const tenures: SessionValidity[] = [];
  for (const requests of Map.groupBy(inOrder(seen), ({ upstream, life }) => `${upstream} ${life}`).values()) {
    let open: (SessionValidity & { lastMs: number }) | undefined;
    for (const { upstream, life, atMs, endedAtMs } of requests) {
      if (open === undefined || atMs - open.lastMs > SILENT_PERIODS * periodMs) {
        if (open !== undefined) tenures.push(open);
        open = { upstream, life, fromMs: atMs, untilMs: endedAtMs, requests: 1, lastMs: atMs };
      } else {
        const untilMs = Math.max(open.untilMs, endedAtMs);
        open = { ...open, untilMs, requests: open.requests + 1, lastMs: atMs };
      }
    }
    if (open !== undefined) tenures.push(open);
  }
  return tenures;
}

/**
 * Where two held an upstream at once: one sentence each. A poll of one in between two polls of another that come
 * one period after the other, or while one of another's is not answered yet, is enough.
 */
export function holderFaults(seen: readonly SeenRequest[], periodMs: number): readonly string[] {
  const faults: string[] = [];
  for (const [upstream, tenures] of Map.groupBy(tenuresOf(seen, periodMs), (tenure) => tenure.upstream)) {
    const sorted = tenures.toSorted((a, b) => a.fromMs - b.fromMs);
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

export function handoversOf(seen: readonly SeenRequest[]): readonly Handover[] {
  const handovers: Handover[] = [];
  for (const [upstream, requests] of Map.groupBy(inOrder(seen), (request) => request.upstream)) {
    requests.forEach((request, index) => {
      const before = requests[index - 1];
      if (before === undefined || before.life === request.life) return;
      const { atMs: lastMs, life: from } = before;
      handovers.push({ upstream, from, to: request.life, lastMs, firstMs: request.atMs });
    });
  }
  return handovers;
}

/** Slots that nobody used in between. */
export function unusedSlots({ lastMs, firstMs }: Handover, periodMs: number): number {
  return Math.max(0, Math.round((firstMs - lastMs) / periodMs) - 1);
}

function inOrder(seen: readonly SeenRequest[]): readonly SeenRequest[] {
  return seen.toSorted((a, b) => a.atMs - b.atMs);
}
