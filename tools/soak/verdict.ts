import type { Soaked } from "./soak.ts";
import { secondHalf, trendOf, type Look, type Trend } from "./trend.ts";
import { looksOf, type Measure, type Sight } from "./watch.ts";

export type Flatness = Trend & {
  readonly measure: Measure;
  readonly name: string;
  readonly mostGrowth: number;
  readonly isFlat: boolean;
};

/** Names, and by how much each may grow over the second half. */
const MEASURES: readonly (readonly [Measure, string, number])[] = [
  ["heapBytes", "heap after a full garbage collection", 0.02],
  ["residentBytes", "resident memory", 0.05],
  ["openFiles", "open files and sockets", 0.05],
  ["activeResources", "active resources of the event loop", 0.05],
  ["series", "series", 0.001],
  ["scrapeBytes", "bytes of a scrape", 0.01],
];

/** Noise alone gains three standard errors once in a thousand soaks. */
const ERRORS_OF_NOISE = 3;

/** Flat: the second half gains no more than it may, or no more than its own noise could have made up. */
export function isFlat(looks: readonly Look[], mostGrowth: number): boolean {
  const { growth, error } = trendOf(secondHalf(looks));
  return growth <= Math.max(mostGrowth, ERRORS_OF_NOISE * error);
}

export function flatnessOf(sights: readonly Sight[]): readonly Flatness[] {
  return MEASURES.map(([measure, name, mostGrowth]) => {
    const looks = looksOf(sights, measure);
    const trend = trendOf(secondHalf(looks));
    return { ...trend, measure, name, mostGrowth, isFlat: isFlat(looks, mostGrowth) };
  });
}

/** Every promise about the accounts that was broken, in words. Exact, however short the soak. */
export function lossesOf({ sights, lost, unheard, refused, exitCode, errors }: Soaked): readonly string[] {
  const unbalanced = new Set(sights.flatMap((sight) => sight.unbalanced));
  return [
    ...[...unbalanced].map((upstream) => `${upstream}: slots are not polls + in flight + skipped`),
    ...lost,
    ...unheard,
    ...refused,
    ...(exitCode === 0 ? [] : [`it ended with ${exitCode}`]),
    ...(errors === "" ? [] : [`it complained: ${errors}`]),
  ];
}

/** What grew, in words. */
export function growthsOf(sights: readonly Sight[]): readonly string[] {
  return flatnessOf(sights)
    .filter((flatness) => !flatness.isFlat)
    .map(
      ({ name, growth, mostGrowth }) =>
        `${name} grew by ${percent(growth)}, more than ${percent(mostGrowth)}`,
    );
}

export function percent(part: number): string {
  return `${(part * 100).toFixed(2)} %`;
}
