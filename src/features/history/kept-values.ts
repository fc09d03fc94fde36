/** The values and quotas that the answers of one upstream tell, by name. */

import { type QuotaForecast, type QuotaName, QUOTAS, type ValuePoint, worstBurn } from "../values/credit.ts";
import type { Value } from "../values/config.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import { QUOTAS_LEFT } from "../quota/reader.ts";
import { type UnreadableValue, VALUES, type ValueSnapshot } from "../values/values.ts";
import { keepNewest } from "../../kernel/text/remembered.ts";
import { MINUTE_MS } from "../../kernel/time/duration.ts";
import { type Answer, ValueTrack } from "./value-track.ts";

/** The state file keeps the newest value of each hour. */
export type SavedValue = ValuePoint & { readonly name: string };

export type KeptQuota = QuotaForecast & { readonly seenAtMs: number };

/** An upstream has ten values at most, and the quotas that its answers tell. */
const MOST_TRACKS = 10 + QUOTAS.length;

/** A value stands for so many periods after it was seen; a pause of some minutes does not end it. */
const PERIODS_KNOWN = 3;
const LEAST_KNOWN_MS = 10 * MINUTE_MS;

export class KeptValues {
  /** By name, the one that was seen longest ago first; undefined until there is one. */
  #tracks: Map<string, ValueTrack> | undefined;

  /** Continues `restored`, the newest last. */
  constructor(restored: readonly SavedValue[] = []) {
    const byName = [...Map.groupBy(restored, (saved) => saved.name)];
    const seenAtMs = (points: readonly SavedValue[]): number => points.at(-1)?.atMs ?? 0;
    for (const [name, points] of byName.toSorted(([, a], [, b]) => seenAtMs(a) - seenAtMs(b))) {
      keepNewest((this.#tracks ??= new Map()), name, new ValueTrack(points), MOST_TRACKS);
    }
  }

  /** Of the last answer. */
  #unreadable: readonly UnreadableValue[] = [];

  get isEmpty(): boolean {
    return this.#tracks === undefined;
  }

  polled({ said, endedAtMs }: Poll): void {
    const [seen, quotas] = [VALUES.of(said), QUOTAS_LEFT.of(said)];
    if (seen === undefined && quotas === undefined) return;
    const { values = [], unreadable = [] } = seen ?? {};
    this.#unreadable = unreadable;
    for (const { name, value, isCredit } of values) this.#add(name, endedAtMs, { value, isCredit });
    for (const { quota, left, refillsInMs } of quotas ?? [])
      this.#add(quotaTrack(quota), endedAtMs, { value: left, refillsAtMs: endedAtMs + refillsInMs });
  }

  /** The answers tell these quotas. A quota that would end only after its refill does not end. */
  quotas(periodMs: number, nowMs: number): readonly KeptQuota[] {
    if (this.#tracks === undefined) return NO_QUOTAS;
    const kept: KeptQuota[] = [];
    for (const quota of QUOTAS) {
      const track = this.#tracks.get(quotaTrack(quota));
      const { seen, refillsAtMs } = track ?? {};
      if (track === undefined || seen === undefined || refillsAtMs === undefined) continue;
      if (!isKnown(seen.atMs, periodMs, nowMs)) continue;
      const burns = track.burns.map((burn) =>
        (burn.emptyAtMs ?? 0) < refillsAtMs ? burn : { ...burn, emptyAtMs: undefined },
      );
      kept.push({ quota, seenAtMs: seen.atMs, burns });
    }
    return kept;
  }

  /** The state file keeps this one. */
  newest(name: string): ValuePoint | undefined {
    return this.#tracks?.get(name)?.points.at(-1);
  }

  /** The newest last. */
  points(name: string): readonly ValuePoint[] {
    return this.#tracks?.get(name)?.points ?? [];
  }

  /**
   * Each value that is wanted gets one; its numbers are unknown where it was not seen for long. The end of a credit stays:
   * that nobody tells it any more refills nothing.
   */
  read(wanted: readonly Value[], periodMs: number, nowMs: number): readonly ValueSnapshot[] {
    return wanted.map(({ name, credit }) => {
      const { seen, burns = [] } = this.#tracks?.get(name) ?? {};
      const burnsOfCredit = credit ? burns : [];
      if (seen !== undefined && isKnown(seen.atMs, periodMs, nowMs))
        return { value: seen.value, seenAtMs: seen.atMs, isReadable: true, burns: burnsOfCredit };
      const unreadable = this.#unreadable.find((each) => each.name === name);
      const hasEnd = burnsOfCredit.some(({ emptyAtMs }) => emptyAtMs !== undefined);
      return {
        value: undefined,
        seenAtMs: undefined,
        isReadable: unreadable === undefined ? undefined : false,
        found: unreadable?.found,
        burns: hasEnd ? burnsOfCredit.map((burn) => ({ ...burn, perSecond: undefined })) : [],
      };
    });
  }

  /** When the first of these is empty that are credits; undefined while none ends. */
  firstEndMs(wanted: readonly Value[]): number | undefined {
    const ends = wanted.flatMap(({ name, credit }) => {
      const worst = credit ? worstBurn(this.#tracks?.get(name)?.burns ?? []) : undefined;
      return worst?.emptyAtMs ?? [];
    });
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  /** Reloads may rename values for ever: the names that were seen longest ago are forgotten. */
  #add(name: string, atMs: number, answer: Answer): void {
    const track = this.#tracks?.get(name) ?? new ValueTrack();
    track.add(atMs, answer);
    keepNewest((this.#tracks ??= new Map()), name, track, MOST_TRACKS);
  }
}

const NO_QUOTAS: readonly KeptQuota[] = [];

/** No value has such a name: they have no spaces. */
export function quotaTrack(quota: QuotaName): string {
  return `quota ${quota}`;
}

/** A value that was seen in a future that a clock has been set back from is unknown too. */
function isKnown(seenAtMs: number, periodMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - seenAtMs) <= Math.max(PERIODS_KNOWN * periodMs, LEAST_KNOWN_MS);
}
