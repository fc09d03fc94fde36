import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { allServedInTime, type Ask, longestBusyMs, paceOf } from "../../src/proof/pace.ts";
import { fitsRates } from "../../src/proof/numbers.ts";
import { ROUND_PERIODS_MS } from "../../src/proof/findings.ts";
import { firstStarvedMs } from "../support/paced-queue.ts";

/** The pace gap of every small case. */
const GAP_MS = 1_000;

type Kind = { readonly periodMs: number; readonly confirm: number };

function askOf({ periodMs, confirm }: Kind): Ask {
  return { count: 1, confirm, gapMs: periodMs, slotsWithin: (windowMs) => Math.ceil(windowMs / periodMs) };
}

/** Every choice of so many kinds, in any numbers. */
function choices(kinds: readonly Kind[], count: number): readonly (readonly Kind[])[] {
  if (count === 0) return [[]];
  return kinds.flatMap((kind, index) =>
    choices(kinds.slice(index), count - 1).map((rest) => [kind, ...rest]),
  );
}

function orders(indices: readonly number[]): readonly (readonly number[])[] {
  if (indices.length <= 1) return [indices];
  return indices.flatMap((first) =>
    orders(indices.filter((index) => index !== first)).map((rest) => [first, ...rest]),
  );
}

/** Each slot at each half or whole gap of its period, and in each order of those that come at once. */
function alignments(plan: readonly Kind[]): readonly (readonly number[])[] {
  const stepMs = plan.length > 2 ? GAP_MS : GAP_MS / 2;
  const grid = plan.reduce<readonly (readonly number[])[]>(
    (begun, { periodMs }, index) =>
      begun.flatMap((phases) =>
        Array.from({ length: index === 0 ? 1 : periodMs / stepMs }, (_, step) => [...phases, step * stepMs]),
      ),
    [[]],
  );
  const ranks = orders(plan.map((_, index) => index));
  return grid.flatMap((phases) =>
    ranks.map((rank) => phases.map((phase, index) => phase + 2 * (1 + (rank[index] ?? 0)))),
  );
}

function starves(plan: readonly Kind[], phases: readonly number[], cap: number, untilMs: number): boolean {
  const upstreams = plan.map((kind, index) => ({ ...kind, phaseMs: phases[index] ?? 0 }));
  return firstStarvedMs(upstreams, [{ perMs: cap * GAP_MS, cap }], untilMs) !== undefined;
}

/** A lease is held 0.1 % longer than its window: a pace that is filled to the brim loses a slot in the long run. */
function everStarves(plan: readonly Kind[], cap: number): boolean {
  const all = alignments(plan);
  return (
    all.some((phases) => starves(plan, phases, cap, 30 * GAP_MS)) ||
    all.slice(0, 2).some((phases) => starves(plan, phases, cap, 2_500 * GAP_MS))
  );
}

function loadOf(plan: readonly Kind[]): number {
  return plan.reduce((sum, { periodMs, confirm }) => sum + ((1 + confirm) * GAP_MS) / periodMs, 0);
}

const KINDS = [1, 2, 3, 4, 8].flatMap((gaps) =>
  [0, 1, 2].map((confirm): Kind => ({ periodMs: gaps * GAP_MS, confirm })),
);

describe.each([1, 3])("of all small cases, with a cap of %i", (cap) => {
  const cases = [1, 2, 3].flatMap((count) => choices(KINDS, count));
  const isServed = (plan: readonly Kind[]): boolean =>
    allServedInTime(
      plan.map((kind) => askOf(kind)),
      paceOf([{ perMs: cap * GAP_MS, cap }]),
    );

  test("those that are accepted never starve, in no alignment, when every poll fails", () => {
    const accepted = cases.filter((plan) => isServed(plan));
    expect(accepted.length).toBeGreaterThan(60);
    const starved = accepted.filter((plan) =>
      alignments(plan).some((phases) => starves(plan, phases, cap, 30 * GAP_MS)),
    );
    expect(starved).toEqual([]);
  });

  test("those that are refused do starve, or confirmations fill more than four fifths of the pace", () => {
    const refused = cases.filter((plan) => !isServed(plan));
    expect(refused.length).toBeGreaterThan(500);
    const unharmed = refused.filter((plan) => !everStarves(plan, cap));
    expect(unharmed.filter((plan) => plan.every(({ confirm }) => confirm === 0))).toEqual([]);
    expect(unharmed.filter((plan) => loadOf(plan) <= 0.8 || loadOf(plan) >= 1)).toEqual([]);
    expect(unharmed.length).toBeLessThan(refused.length / 40);
  });
});

test("room in every window for all that is asked for in it is enough, as it always was", () => {
  const kind = fc.record({
    periodMs: fc.constantFrom(...ROUND_PERIODS_MS.slice(0, 24)),
    confirm: fc.nat({ max: 3 }),
  });
  const windows = fc.uniqueArray(fc.constantFrom(1_000, 7_000, 60_000, 3_600_000), { minLength: 1 });
  fc.assert(
    fc.property(
      fc.array(kind, { minLength: 1, maxLength: 6 }),
      windows,
      fc.nat({ max: 3 }),
      (plan, all, spare) => {
        const rates = all.map((perMs) => {
          const demand = plan.reduce(
            (sum, each) => sum + Math.ceil(perMs / each.periodMs) * (1 + each.confirm),
            0,
          );
          return { requests: demand + spare, perMs, label: `${perMs}ms` };
        });
        expect(
          fitsRates(
            { rates, share: 1 },
            plan.map((each) => askOf(each)),
          ),
        ).toBe(true);
      },
    ),
    { seed: 20261122, numRuns: 200 },
  );
});

test("a bunched cron waits for its own bunch", () => {
  const slotsWithin = (windowMs: number): number =>
    4 * Math.floor(windowMs / 3_600_000) + Math.min(4, Math.ceil((windowMs % 3_600_000) / 1_000));
  const bunch: Ask = { count: 1, confirm: 0, gapMs: 1_000, slotsWithin };
  const fine = paceOf([{ perMs: 900, cap: 1 }]);
  const coarse = paceOf([{ perMs: 1_500, cap: 1 }]);
  expect(allServedInTime([bunch], fine)).toBe(true);
  expect(allServedInTime([bunch], coarse)).toBe(false);
});

test("a pace that is too slow for what is asked is never done", () => {
  const asks = [askOf({ periodMs: 1_000, confirm: 1 })];
  expect(longestBusyMs(asks, paceOf([{ perMs: 1_000, cap: 1 }]))).toBe(Infinity);
  expect(longestBusyMs(asks, paceOf([{ perMs: 1_000, cap: 4 }]))).toBeLessThan(1_000);
});

test("leases are held 0.1 % longer than their window, and a plan that has no room for that is refused", () => {
  const hourly = (count: number): Ask => ({ ...askOf({ periodMs: 3_600_000, confirm: 0 }), count });
  const rates = [
    { requests: 1_000, perMs: 3_600_000, label: "1h" },
    // So that slots which come at once must take turns.
    { requests: 1, perMs: 1_000, label: "1s" },
  ];
  expect(fitsRates({ rates, share: 1 }, [hourly(998)])).toBe(true);
  expect(fitsRates({ rates, share: 1 }, [hourly(999)])).toBe(false);
});
