import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Burn, BURN_WINDOWS, QUOTAS } from "../../../src/core/answer/credit.ts";
import { UpstreamAccounts } from "../../../src/core/metrics/accounts.ts";
import { ownedPieces, processText, renderExposition } from "../../../src/core/metrics/exposition.ts";
import { HEALTH_STATES } from "../../../src/core/poll/health.ts";
import { snapshotIn, takeFrame, type ScrapeFrame } from "../../../src/core/metrics/scrape-frame.ts";
import { SLOT_STARTED, SLOT_WAITING } from "../../../src/core/poll/ports.ts";
import type {
  BudgetSnapshot,
  MetricsSnapshot,
  UpstreamSnapshot,
  ValueSnapshot,
} from "../../../src/core/metrics/snapshot.ts";
import {
  accountsOf,
  fullMetricsSnapshot,
  sampleBudgetSnapshot,
  sampleFleetSnapshot,
  sampleMetricsSnapshot,
  samplePoll,
  sampleUpstream,
  sampleUpstreamSnapshot,
  sampleValue,
  recordPoll,
} from "../../support/samples.ts";

function textOf(frame: ScrapeFrame): string {
  return [...ownedPieces(snapshotIn(frame))].join("");
}

const unknown = { nil: undefined };
const count = fc.oneof(fc.nat(), fc.constant(Infinity));

const values: fc.Arbitrary<ValueSnapshot> = fc
  .record({
    value: fc.option(fc.double({ noNaN: true }), unknown),
    seenAtMs: fc.option(fc.nat(), unknown),
    perSecond: fc.option(fc.double({ min: 0, noNaN: true }), unknown),
    emptyAtMs: fc.option(fc.nat(), unknown),
    isKnown: fc.boolean(),
  })
  .map(({ value, seenAtMs, perSecond, emptyAtMs, isKnown }) => ({
    value,
    seenAtMs,
    burns: isKnown ? BURN_WINDOWS.map((window) => ({ window, perSecond, emptyAtMs })) : [],
  }));

const upstreams: fc.Arbitrary<UpstreamSnapshot> = fc
  .record({
    name: fc.string({ minLength: 1 }),
    durationMs: fc.double({ min: 0, max: 70_000, noNaN: true }),
    certificateExpiresAtMs: fc.option(fc.nat(), unknown),
    state: fc.constantFrom(...HEALTH_STATES),
    up: fc.option(fc.boolean(), unknown),
    nextSlotAtMs: fc.option(fc.nat(), unknown),
    stalledAfterMs: fc.nat(),
    values: fc.option(fc.array(values, { maxLength: 3 }), unknown),
  })
  .map(({ name, durationMs, certificateExpiresAtMs, state, up, nextSlotAtMs, stalledAfterMs, values }) =>
    sampleUpstreamSnapshot({
      upstream: sampleUpstream({
        name,
        ...(values && {
          values: values.map((_, index) => sampleValue({ name: `v${index}`, credit: index < 2 })),
        }),
      }),
      ...(values && { values }),
      accounts: accountsOf(samplePoll({ durationMs, certificateExpiresAtMs })),
      health: { state, up },
      nextSlotAtMs,
      stalledAfterMs,
    }),
  );

const budgets: fc.Arbitrary<BudgetSnapshot> = fc.record({
  name: fc.string({ minLength: 1 }),
  rates: fc.array(fc.record({ label: fc.string(), limit: count, cap: count, leases: count }), {
    maxLength: 3,
  }),
  advertisedLimit: fc.option(count, unknown),
  advertisedRemaining: fc.option(count, unknown),
  pausedUntilWallMs: fc.nat(),
  quota: fc.option(
    fc.record({ limit: count, used: count, unconfirmed: count, forecast: fc.option(count, unknown) }),
    unknown,
  ),
  quotas: fc
    .subarray([...QUOTAS])
    .map((names) => names.map((quota, index) => ({ quota, burns: burnsWith(index) }))),
});

function burnsWith(perSecond: number): readonly Burn[] {
  return BURN_WINDOWS.map((window) => ({ window, perSecond, emptyAtMs: perSecond > 1 ? 5_000 : undefined }));
}

const snapshots: fc.Arbitrary<MetricsSnapshot> = fc
  .record({
    upstreams: fc.array(upstreams, { maxLength: 4 }),
    budgets: fc.array(budgets, { maxLength: 4 }),
    fleet: fc.constantFrom(undefined, sampleFleetSnapshot(), sampleFleetSnapshot({ vantage: "berlin" })),
  })
  .map(sampleMetricsSnapshot);

test("a frame tells all that its snapshot did, also after it was copied to another thread", () => {
  fc.assert(
    fc.property(snapshots, (snapshot) => {
      const frame = takeFrame(snapshot);
      const wanted = renderExposition(snapshot);
      expect(textOf(frame) + processText(snapshot)).toBe(wanted);
      expect(textOf(structuredClone(frame)) + processText(snapshot)).toBe(wanted);
    }),
    { numRuns: 200 },
  );
});

test("what happens after a frame was taken does not show in it", () => {
  const accounts = new UpstreamAccounts();
  const snapshot = sampleMetricsSnapshot({ upstreams: [sampleUpstreamSnapshot({ accounts })] });
  const frame = takeFrame(snapshot);
  const before = textOf(frame);
  accounts.record(SLOT_WAITING);
  accounts.record(SLOT_STARTED);
  recordPoll(accounts, samplePoll());
  expect(textOf(frame)).toBe(before);
  expect(textOf(takeFrame(snapshot))).not.toBe(before);
});

test("the subjects stay the same while nobody comes, goes or changes", () => {
  const before = fullMetricsSnapshot();
  const { subjects } = takeFrame(before);
  const budget = sampleBudgetSnapshot({ ...before.budgets[0], advertisedLimit: 7 });
  expect(takeFrame({ ...before, budgets: [budget] }, subjects).subjects).toBe(subjects);
  const others: readonly Partial<MetricsSnapshot>[] = [
    { upstreams: [] },
    { upstreams: [sampleUpstreamSnapshot({ upstream: sampleUpstream() })] },
    { budgets: [] },
    { budgets: [{ ...budget, name: "other" }] },
    { budgets: [{ ...budget, quota: undefined }] },
    { budgets: [{ ...budget, quotas: [] }] },
    { budgets: [{ ...budget, quotas: [{ quota: "1d", burns: burnsWith(2) }] }] },
    { budgets: [{ ...budget, rates: [] }] },
    { budgets: [{ ...budget, rates: [{ label: "1h", limit: 1, cap: 1, leases: 0 }] }] },
    { fleet: sampleFleetSnapshot({ vantage: "berlin" }) },
  ];
  for (const other of others) {
    const snapshot = { ...before, ...other };
    const frame = takeFrame(snapshot, subjects);
    expect(frame.subjects).not.toBe(subjects);
    expect(textOf(frame) + processText(snapshot)).toBe(renderExposition(snapshot));
  }
});
