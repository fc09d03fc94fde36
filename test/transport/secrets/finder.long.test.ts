import { expect, test } from "vitest";
import { SecretFinder } from "../../../src/transport/secrets/finder.ts";
import { growth } from "../../support/growth.ts";

/** Of sixteen times as much: linear is 16, or some more as memory fills; square is 256. */
const MOST_GROWTH = 64;

function growthOfSearch(make: (length: number) => readonly [text: string, key: string]): number {
  const search = (length: number): (() => void) => {
    const [text, key] = make(length);
    // A finder remembers the last texts.
    return () => void new SecretFinder([key]).hide(text);
  };
  return growth(search(10_000), search(160_000));
}

test.each<readonly [string, string]>([
  ["of signs", "+/=&%'<>; "],
  ["of backslashes", String.raw`a\\\\\\\\\\\\`],
  ["of backslashes alone", "\\"],
  ["that begins as the text goes on", "aaaaaaaaaaab"],
  ["of digits", "&#1151"],
])("the search is linear, also for a key %s", (_, odd) => {
  expect(growthOfSearch((length) => [odd.repeat(length / odd.length), `${odd.repeat(60)}x`])).toBeLessThan(
    MOST_GROWTH,
  );
  expect(
    growthOfSearch((length) => [odd.slice(1).repeat(300), odd.repeat(length / odd.length)]),
  ).toBeLessThan(MOST_GROWTH);
});
