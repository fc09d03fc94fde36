import type { Upstream } from "../../kernel/config/config.ts";
import type { Running } from "../../kernel/metrics/snapshot.ts";
import { type Field, field, type Fields } from "../../kernel/text/field.ts";
import { type Burn, type ValuePoint, worstBurn } from "../history/credit.ts";
import { creditSentence } from "../history/credit-sentence.ts";
import type { History } from "../history/history.ts";
import type { Value } from "./config.ts";
import { valuesKnown } from "./tracked.ts";
import type { ValueSnapshot } from "./values.ts";

/** A number that the answers tell. */
export type ValueStatus = {
  readonly name: string;
  /** Empty if it has none. */
  readonly unit: string;
  /** Undefined once it was not seen for long. */
  readonly value: number | undefined;
  readonly seenAtMs: number | undefined;
  /** What stands in its place, which is no number. */
  readonly found?: string | undefined;
  /** Only of a credit that is known, or whose end was before it could no longer be read. */
  readonly credit?: {
    /** For people: "At the pace of the last day, empty on Tuesday about 14:00 UTC." */
    readonly sentence: string;
    /** By the worst pace; undefined if it is not in sight. */
    readonly emptyAtMs: number | undefined;
    readonly burns: readonly Burn[];
  };
};

export type ShownPoint = Pick<ValuePoint, "atMs" | "value">;

/** In the order of the config; absent where it has none. */
export const VALUES_SHOWN: Field<readonly ValueStatus[]> = field("values");
/** Of the last week, the newest last. */
export const VALUE_HISTORIES: Field<
  readonly { readonly name: string; readonly points: readonly ShownPoint[] }[]
> = field("valueHistories");

type Of = Pick<Upstream, "values" | "schedule">;

export function valueFacts(
  { values, schedule }: Of,
  history: History,
  { nowMs }: Pick<Running, "nowMs">,
): Fields {
  if (values === undefined) return {};
  const read = valuesKnown(history, values, schedule.longestGapMs, nowMs);
  return { [VALUES_SHOWN.name]: values.map((value, place) => valueStatusOf(value, read[place], nowMs)) };
}

export function valueHistories({ values }: Of, { tracks }: Pick<History, "tracks">): Fields {
  const histories = values?.map(({ name }) => {
    const points = tracks.of(name)?.points ?? [];
    return { name, points: points.map(({ atMs, value }) => ({ atMs, value })) };
  });
  return { [VALUE_HISTORIES.name]: histories };
}

export function creditEnds(
  upstream: Fields,
): readonly { readonly name: string; readonly sentence: string; readonly atMs: number | undefined }[] {
  return (VALUES_SHOWN.of(upstream) ?? []).flatMap(({ name, credit }) =>
    credit === undefined ? [] : [{ name, sentence: credit.sentence, atMs: credit.emptyAtMs }],
  );
}

function valueStatusOf(
  { name, unit = "" }: Value,
  read: ValueSnapshot | undefined,
  nowMs: number,
): ValueStatus {
  const { value, seenAtMs, found, burns = [] } = read ?? {};
  const sentence = creditSentence(burns, nowMs);
  const credit = { sentence, emptyAtMs: worstBurn(burns)?.emptyAtMs, burns };
  return {
    name,
    unit,
    value,
    seenAtMs,
    ...(found !== undefined && { found }),
    ...(burns.length > 0 && { credit }),
  };
}
