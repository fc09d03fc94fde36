import { expect, test } from "vitest";
import type { Burn, BurnWindow } from "../../../src/features/history/credit.ts";
import { quotaSentence } from "../../../src/features/quota/standing.ts";

/** A Sunday. */
const NOW_MS = Date.parse("2026-11-22T10:00:00Z");

function burn(window: BurnWindow, emptyAt: string | undefined): Burn {
  return { window, perSecond: 0.5, emptyAtMs: emptyAt === undefined ? undefined : Date.parse(emptyAt) };
}

test("a quota refills by itself", () => {
  expect(quotaSentence([burn("1d", undefined)], NOW_MS)).toBe(
    "At the present pace it refills before it is empty.",
  );
  expect(quotaSentence([{ window: "1h", perSecond: undefined, emptyAtMs: undefined }], NOW_MS)).toContain(
    "not known yet",
  );
  // A quota stops before a request that might not fit, so a rest of it stays.
  expect(quotaSentence([burn("1h", "2026-11-22T10:00:00Z")], NOW_MS)).toBe(
    "Too little is left for another poll.",
  );
  expect(quotaSentence([burn("1h", "2026-11-22T13:13:00Z")], NOW_MS)).toContain("empty in 3 h 13 min");
});

const SPEND = { limit: 5, perMs: 2_592_000_000, used: 4.9949, unconfirmed: 0, forecast: 6, currency: "EUR" };

test("a quota or spend of ours that ends or is used up is told with its amounts, and until when", () => {
  const now = [burn("1h", "2026-11-22T10:00:00Z")];
  const noRoomUntilMs = Date.parse("2026-11-24T14:00:00Z");
  expect(quotaSentence(now, NOW_MS, { ...SPEND, noRoomUntilMs })).toMatch(
    /: 4\.99 of 5\.00 EUR used in 30 d; there is room again on Tuesday about 14:00 UTC\.$/,
  );
  const quota = { limit: 400_000, perMs: 86_400_000, used: 400_000, unconfirmed: 0, forecast: 1 };
  expect(quotaSentence(now, NOW_MS, { ...quota, noRoomUntilMs: NOW_MS + 4_000_000 })).toMatch(
    /: 400\u202f000 of 400\u202f000 requests used in 1 d; .* in 1 h 7 min, about 11:10 UTC\.$/,
  );
  expect(quotaSentence([burn("1h", "2026-11-22T13:13:00Z")], NOW_MS, SPEND)).toMatch(
    /empty in 3 h 13 min, .*: 4\.99 of 5\.00 EUR used in 30 d\.$/,
  );
  expect(quotaSentence([burn("1h", undefined)], NOW_MS, SPEND)).not.toContain("EUR");
});
