import type { Follower } from "../history/history.ts";
import { isKnown, type Tracks } from "../history/tracks.ts";
import { type QuotaForecast, type QuotaName, QUOTAS } from "./quota-forecast.ts";
import { QUOTAS_LEFT } from "./reader.ts";

type KeptQuota = QuotaForecast & { readonly seenAtMs: number };

export const followQuotas: Follower = ({ said, endedAtMs }, { tracks }) => {
  for (const { quota, left, refillsInMs } of QUOTAS_LEFT.of(said) ?? [])
    tracks.add(quotaTrack(quota), endedAtMs, { value: left, refillsAtMs: endedAtMs + refillsInMs });
};

/** The answers tell these quotas. A quota that would end only after its refill does not end. */
export function quotasKnown(tracks: Tracks, periodMs: number, nowMs: number): readonly KeptQuota[] {
  if (tracks.isEmpty) return [];
  return QUOTAS.flatMap((quota) => {
    const { seen, refillsAtMs, burns = [] } = tracks.of(quotaTrack(quota)) ?? {};
    if (seen === undefined || refillsAtMs === undefined || !isKnown(seen.atMs, periodMs, nowMs)) return [];
    const ends = burns.map((burn) =>
      (burn.emptyAtMs ?? 0) < refillsAtMs ? burn : { ...burn, emptyAtMs: undefined },
    );
    return { quota, seenAtMs: seen.atMs, burns: ends };
  });
}

/** No value has such a name: they have no spaces. */
function quotaTrack(quota: QuotaName): string {
  return `quota ${quota}`;
}
