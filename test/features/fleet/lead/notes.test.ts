import { expect, test } from "vitest";
import {
  BYTES_OF_ALL,
  BYTES_OF_BUDGET,
  type BudgetTerms,
  foundIn,
  notesText,
  rowOf,
  type Rows,
  type Start,
  startOf,
} from "../../../../src/features/fleet/lead/notes.ts";

const TTL_MS = 10_000;

/** It waits for one pace gap after a restart, and for a minute where others may have sent. */
const TERMS: BudgetTerms = { budget: "api", digest: "x", coldMs: 1_000, wholeMs: 60_000 };
const PART: BudgetTerms = { ...TERMS, isPart: true };

function foundAt(monoMs: number, rows?: Rows) {
  const value = rows && notesText("n", rows, undefined);
  return foundIn({ era: "1", value, version: "1", isSure: true }, undefined, monoMs);
}

/** As the leader that began so notes it. */
const notedAt = (start: Start, monoMs: number): Rows =>
  new Map([["api", rowOf(start, undefined, TTL_MS, monoMs)]]);

test("without any notes a leader begins as after a restart, and the first one of a vantage by the whole window", () => {
  expect(startOf(TERMS, foundAt(0)).atMs).toBe(1_000);
  expect(startOf(PART, foundAt(0)).atMs).toBe(60_000);
});

test("whoever follows the first leader of a vantage goes on with what is left to wait, and then begins as after a restart", () => {
  const first = startOf(PART, foundAt(0));
  const early = startOf(PART, foundAt(20_000, notedAt(first, 20_000)));
  expect(early.atMs).toBe(60_000);
  const earlier = startOf(PART, foundAt(50_000, notedAt(early, 50_000)));
  expect(earlier.atMs).toBe(60_000);
  const late = startOf(PART, foundAt(70_000, notedAt(first, 70_000)));
  expect(late.atMs).toBe(71_000);
});

test("a vantage that has another part begins by the whole window", () => {
  const rows = notedAt(startOf(PART, foundAt(0)), 70_000);
  expect(startOf({ ...PART, digest: "y" }, foundAt(80_000, rows)).atMs).toBe(140_000);
});

test("the notes of each budget are short, however long its name and its waits, and whatever its terms", () => {
  const terms = (budget: string, digest: string): BudgetTerms => ({
    budget,
    digest,
    coldMs: 1,
    wholeMs: 40_000_000_000,
  });
  const budgets = Array.from({ length: 2_000 }, (_, index) => `${index}`.padEnd(64, "x"));
  const rows = new Map(
    budgets.map((budget, index) => {
      const digest = (0xffff_ffff - index).toString(36);
      const start = { ...startOf(terms(budget, digest), foundAt(0)), mixedUntilMs: Infinity };
      const leases = { leftMs: new Map([[budget, 40_000_000_000]]), atMs: 0 };
      return [budget, rowOf(start, leases, TTL_MS, 10)] as const;
    }),
  );
  const text = notesText("a".repeat(12), rows, { atMs: Date.now() + 0.123, notes: [] });
  expect(text.length).toBeLessThan(BYTES_OF_ALL + budgets.length * BYTES_OF_BUDGET);
  const found = foundIn({ era: "1", value: text, version: "1", isSure: true }, undefined, 0);
  for (const budget of budgets) {
    const { digest = "" } = rows.get(budget)?.rest ?? {};
    expect(startOf(terms(budget, digest), found).atMs).toBe(40_000_000_000);
  }
});

test("names that have one hash have notes of their own", () => {
  const names = ["6a173fcf4e", "4709b630cf"];
  const rows = new Map(
    names.map((budget, index) => [
      budget,
      { terms: { digest: "x", wholeMs: 60_000 }, rest: { leftMs: 100 * index, digest: "x" } },
    ]),
  );
  const starts = names.map((budget) => startOf({ ...TERMS, budget }, foundAt(0, rows)).atMs);
  expect(starts).toEqual([0, 100]);
});
