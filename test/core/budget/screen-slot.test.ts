import { expect, test } from "vitest";

import type { BudgetRestraint } from "../../../src/core/budget/ledger.ts";
import { screenSlot } from "../../../src/core/budget/screen-slot.ts";

const FREE: BudgetRestraint = {
  pausedUntilMs: 0,
  isYielding: false,
  isQuotaSpent: false,
  paceGapMs: 1_000,
  maxPauseMs: 3_600_000,
};

test("nothing hinders: the slot is used", () => {
  expect(screenSlot(FREE, 0, 0, 10)).toEqual({ skip: undefined, yielded: 0 });
});

test("a pause of the budget, or of the upstream alone, skips the slot", () => {
  expect(screenSlot({ ...FREE, pausedUntilMs: 11 }, 0, 0, 10).skip).toBe("backoff");
  expect(screenSlot(FREE, 11, 0, 10).skip).toBe("backoff");
  expect(screenSlot({ ...FREE, pausedUntilMs: 10 }, 10, 0, 10).skip).toBeUndefined();
});

test("a spent quota skips the slot", () => {
  expect(screenSlot({ ...FREE, isQuotaSpent: true }, 0, 0, 10).skip).toBe("quota");
});

test("while yielding, one slot in four is used", () => {
  const used: boolean[] = [];
  let yielded = 0;
  for (let slot = 0; slot < 8; slot += 1) {
    const screening = screenSlot({ ...FREE, isYielding: true }, 0, yielded, 10);
    yielded = screening.yielded;
    used.push(screening.skip === undefined);
  }
  expect(used).toEqual([false, false, false, true, false, false, false, true]);
});
