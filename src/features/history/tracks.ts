/** Numbers that the answers of one upstream tell, by name: over a week each. */

import type { ValuePoint } from "./credit.ts";
import { keepNewest } from "../../platform/remembered.ts";
import { MINUTE_MS } from "../../kernel/time/duration.ts";
import { type Answer, ValueTrack } from "./value-track.ts";

/** The state file keeps the newest point of each hour. */
export type SavedValue = ValuePoint & { readonly name: string };

/** An upstream has ten values at most, and its answers tell some quotas. */
const MOST_TRACKS = 15;

/** A number stands for so many periods after it was seen; a pause of some minutes does not end it. */
const PERIODS_KNOWN = 3;
const LEAST_KNOWN_MS = 10 * MINUTE_MS;

export class Tracks {
  /** By name, the one that was seen longest ago first; undefined until there is one. */
  #tracks: Map<string, ValueTrack> | undefined;
  /** Whoever keeps the newest point. */
  onTracked: ((saved: SavedValue) => void) | undefined;

  /** Continues `restored`, the newest last. */
  constructor(restored: readonly SavedValue[] = []) {
    const byName = [...Map.groupBy(restored, (saved) => saved.name)];
    const seenAtMs = (points: readonly SavedValue[]): number => points.at(-1)?.atMs ?? 0;
    for (const [name, points] of byName.toSorted(([, a], [, b]) => seenAtMs(a) - seenAtMs(b))) {
      keepNewest((this.#tracks ??= new Map()), name, new ValueTrack(points), MOST_TRACKS);
    }
  }

  get isEmpty(): boolean {
    return this.#tracks === undefined;
  }

  of(name: string): ValueTrack | undefined {
    return this.#tracks?.get(name);
  }

  /** Reloads may rename them for ever: the names that were seen longest ago are forgotten. */
  add(name: string, atMs: number, answer: Answer): void {
    const track = this.of(name) ?? new ValueTrack();
    track.add(atMs, answer);
    keepNewest((this.#tracks ??= new Map()), name, track, MOST_TRACKS);
    const newest = track.points.at(-1);
    if (newest !== undefined) this.onTracked?.({ ...newest, name });
  }
}

/** A number that was seen in a future that a clock has been set back from is unknown too. */
export function isKnown(seenAtMs: number, periodMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - seenAtMs) <= Math.max(PERIODS_KNOWN * periodMs, LEAST_KNOWN_MS);
}
