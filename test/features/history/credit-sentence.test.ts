import { expect, test } from "vitest";
import type { Burn, BurnWindow } from "../../../src/features/history/credit.ts";
import { creditSentence } from "../../../src/features/history/credit-sentence.ts";

/** A Sunday. */
const NOW_MS = Date.parse("2026-11-22T10:00:00Z");

function burn(window: BurnWindow, emptyAt: string | undefined): Burn {
  return { window, perSecond: 0.5, emptyAtMs: emptyAt === undefined ? undefined : Date.parse(emptyAt) };
}

test.each<readonly [string, readonly Burn[]]>([
  ["At the pace of the last day, empty on Tuesday about 14:00 UTC.", [burn("1d", "2026-11-24T13:40:00Z")]],
  ["At the pace of the last week, empty on 2026-12-03.", [burn("7d", "2026-12-03T13:40:00Z")]],
  [
    "At the pace of the last hour, empty in 3 h 13 min, about 13:10 UTC.",
    [burn("1h", "2026-11-22T13:13:00Z")],
  ],
  ["At the pace of the last hour, empty in 2 min, about 10:02 UTC.", [burn("1h", "2026-11-22T10:01:40Z")]],
  ["At the pace of the last hour, empty on Monday about 00:00 UTC.", [burn("1h", "2026-11-22T23:50:00Z")]],
  ["It is empty.", [burn("1h", "2026-11-22T10:00:00Z")]],
  ["At the present pace it lasts for more than a year.", [burn("1d", undefined)]],
  [
    "Its pace is not known yet: that takes half an hour, or up to a day with polls hours apart.",
    [{ window: "1h", perSecond: undefined, emptyAtMs: undefined }],
  ],
])("%s", (sentence, burns) => {
  expect(creditSentence(burns, NOW_MS)).toBe(sentence);
});

test("a moment of another day has its date", () => {
  const evening = Date.parse("2026-11-22T20:00:00Z");
  expect(creditSentence([burn("1h", "2026-11-23T01:30:00Z")], evening)).toContain(
    "empty in 5 h 30 min, about 2026-11-23 01:30 UTC.",
  );
});

test("the worst of the windows decides", () => {
  const burns = [
    burn("1h", "2026-11-24T13:40:00Z"),
    burn("1d", "2026-11-23T20:00:00Z"),
    burn("7d", undefined),
  ];
  expect(creditSentence(burns, NOW_MS)).toContain("of the last day, empty on Monday about 20:00 UTC");
});
