import { describe, expect, test } from "vitest";
import { askedFor, periodOf } from "../../../src/features/report/period.ts";
import { DAY_MS, HOUR_MS } from "../../../src/kernel/time/duration.ts";

const NOW_MS = Date.parse("2026-11-24T12:00:00Z");
const day = (text: string): number => Date.parse(`${text}T00:00:00Z`) / DAY_MS;

describe("what a report is asked for", () => {
  test.each([
    [{}, "2026-10-01", "2026-10-31"],
    [{ month: "2024-02" }, "2024-02-01", "2024-02-29"],
    [{ month: "2026-12" }, "2026-12-01", "2026-12-31"],
    [{ from: "2026-10-07", to: "2026-10-07" }, "2026-10-07", "2026-10-07"],
    [{ from: "2026-11-01" }, "2026-11-01", "2026-11-24"],
  ])("%j is from %s to %s", (written, first, last) => {
    expect(askedFor(written, NOW_MS)).toMatchObject({ firstDay: day(first), lastDay: day(last) });
  });

  test("in January, the month before is December", () => {
    expect(askedFor({}, Date.parse("2027-01-01T00:00:00Z"))).toEqual({
      firstDay: day("2026-12-01"),
      lastDay: day("2026-12-31"),
      ifEmpty: { firstDay: day("2027-01-01"), lastDay: day("2027-01-31") },
    });
  });

  test.each([
    [{ month: "2026-13" }, 'month must be like 2026-10, received "2026-13"'],
    [{ month: "october" }, 'month must be like 2026-10, received "october"'],
    [{ month: "2026-10", to: "2026-10-02" }, "month needs neither from nor to"],
    [{ to: "2026-10-02" }, 'from must be a day such as 2026-10-01, received ""'],
    [{ from: "2026-02-30" }, 'from must be a day such as 2026-10-01, received "2026-02-30"'],
    [{ from: "2026-10-01", to: "x" }, 'to must be a day such as 2026-10-31, received "x"'],
    [{ from: "2026-10-02", to: "2026-10-01" }, "to must be from 0 to 399 days after from"],
    [{ from: "2024-10-02", to: "2026-10-01" }, "to must be from 0 to 399 days after from"],
  ])("%j is refused", (written, sentence) => {
    expect(askedFor(written, NOW_MS)).toBe(sentence);
  });
});

const ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Asia/Tokyo",
  "America/Santiago",
  "Africa/Cairo",
  "Australia/Sydney",
];

test.each(ZONES)(
  "in %s each day of a year begins where the runtime's calendar says that its date begins",
  (timeZone) => {
    const date = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" });
    const { days, fromMs, toMs } = periodOf(
      { firstDay: day("2026-01-01"), lastDay: day("2026-12-31") },
      timeZone,
      NOW_MS + 400 * DAY_MS,
    );
    expect(days).toHaveLength(365);
    let endMs = fromMs;
    for (const each of days) {
      expect(each.fromMs).toBe(endMs);
      expect([date.format(each.fromMs), date.format(each.toMs - 1)]).toEqual([each.name, each.name]);
      expect(date.format(each.fromMs - 1)).not.toBe(each.name);
      expect((each.toMs - each.fromMs) % HOUR_MS).toBe(0);
      endMs = each.toMs;
    }
    expect(endMs).toBe(toMs);
  },
);

test("what has not begun is left out, and a month of which days are is not whole", () => {
  const { days, months } = periodOf(
    { firstDay: day("2026-10-15"), lastDay: day("2026-12-31") },
    "UTC",
    NOW_MS,
  );
  expect(days.at(-1)?.name).toBe("2026-11-24");
  expect(months.map(({ name, isWhole }) => ({ name, isWhole }))).toEqual([
    { name: "2026-10", isWhole: false },
    { name: "2026-11", isWhole: true },
  ]);
});
