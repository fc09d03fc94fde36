import { expect, test } from "vitest";
import { NOTHING_HELD } from "../../../src/core/budget/record.ts";
import { noteText, readNote } from "../../../src/core/fleet/budget-note.ts";

test("of a note that is too long for the board, learned windows are left out until it fits, and it can be read", () => {
  const windows = Array.from({ length: 12 }, (_, index) => ({
    key: `${index}`.padEnd(80, "k"),
    limit: 60,
    perMs: 60_000,
    from: "policy" as const,
  }));
  const record = { ...NOTHING_HELD, pausedUntilMs: 1_790_000_000_000, windows };
  const text = noteText({ record, wallMs: 1_789_999_999_000 });
  expect(text.length).toBeLessThanOrEqual(1_000);
  const read = readNote(text);
  expect(read?.record.pausedUntilMs).toBe(record.pausedUntilMs);
  expect(read?.record.windows.length).toBeGreaterThan(2);
  expect(windows.slice(-(read?.record.windows.length ?? 0))).toEqual(read?.record.windows);
});
