import type { Value } from "./config.ts";
import type { Follower, History } from "../history/history.ts";
import { isKnown } from "../history/tracks.ts";
import { type Field, field } from "../../kernel/text/field.ts";
import { type UnreadableValue, VALUES, type ValueSnapshot } from "./values.ts";

/** The last answer told them. */
const UNREADABLE: Field<readonly UnreadableValue[]> = field("unreadable");

export const followValues: Follower = ({ said, endedAtMs }, history) => {
  const seen = VALUES.of(said);
  if (seen === undefined) return;
  history.remember(UNREADABLE, seen.unreadable.length === 0 ? undefined : seen.unreadable);
  for (const { name, value, isCredit } of seen.values)
    history.tracks.add(name, endedAtMs, { value, isCredit });
};

/**
 * Each value that is wanted gets one; its numbers are unknown where it was not seen for long. The end of a credit stays:
 * that nobody tells it any more refills nothing.
 */
export function valuesKnown(
  { tracks, remembered }: Pick<History, "tracks" | "remembered">,
  wanted: readonly Value[],
  periodMs: number,
  nowMs: number,
): readonly ValueSnapshot[] {
  return wanted.map(({ name, credit }) => {
    const { seen, burns = [] } = tracks.of(name) ?? {};
    const burnsOfCredit = credit ? burns : [];
    if (seen !== undefined && isKnown(seen.atMs, periodMs, nowMs))
      return { value: seen.value, seenAtMs: seen.atMs, isReadable: true, burns: burnsOfCredit };
    const unreadable = UNREADABLE.of(remembered)?.find((each) => each.name === name);
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
