import { expect, test } from "vitest";

import { TestLedger } from "../../support/test-ledger.ts";
import { LeaseQueue } from "../../../src/kernel/polling/lease-queue.ts";
import { Poller } from "../../../src/kernel/polling/poller.ts";
import { FakeProbe, StoryRecorder } from "../../support/fakes.ts";
import {
  answered,
  observed,
  sampleBudget,
  sampleConfig,
  sampleSchedule,
  sampleUpstream,
} from "../../support/kernel-samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const SECOND_MS = 1_000;

/** Slots of all of them fall on the same seconds, the slow ones' first. Answers how often each was polled, or gave up. */
async function seen(
  periodsMs: Readonly<Record<string, number>>,
  requests: number,
  seconds: number,
  failing?: string,
): Promise<Record<string, { polls: number; gaveUp: number }>> {
  const clock = new VirtualClock();
  const upstreams = Object.entries(periodsMs).map(([name, periodMs]) =>
    sampleUpstream({ name, schedule: sampleSchedule(periodMs, name), confirm: name === failing ? 1 : 0 }),
  );
  const rates = [{ requests, perMs: 10 * SECOND_MS, label: "10s" }];
  const ledger = new TestLedger(sampleConfig({ budgets: [sampleBudget({ rates })], upstreams }), clock);
  const onBug = (error: unknown): never => {
    throw error;
  };
  const queue = new LeaseQueue(ledger.inner, clock, onBug);
  const pollers = upstreams.map((upstream) => {
    const recorder = new StoryRecorder();
    const probe = new FakeProbe(clock, () => observed(answered(upstream.name === failing ? 500 : 200)));
    const parts = {
      clock,
      ...ledger.polling,
      queue,
      recorder,
      onBug,
      nextPollId: () => "p",
    };
    return { upstream, recorder, poller: new Poller(upstream, probe, parts) };
  });
  await clock.advance(60 * SECOND_MS);
  for (let second = 0; second < seconds; second += 1) {
    for (const { upstream, poller } of pollers) {
      if ((second * SECOND_MS) % upstream.schedule.longestGapMs === 0) poller.slot("schedule", clock.now());
    }
    await clock.advance(SECOND_MS);
  }
  return Object.fromEntries(
    pollers.map(({ upstream, recorder }) => [
      upstream.name,
      { polls: recorder.polls.length, gaveUp: recorder.skipped },
    ]),
  );
}

test("an upstream with frequent slots is not made to wait behind those that have time", async () => {
  const polled = await seen({ slow: 5_000, slower: 10_000, fast: 1_000 }, 14, 30);
  expect(polled).toEqual({
    slow: { polls: 6, gaveUp: 0 },
    slower: { polls: 3, gaveUp: 0 },
    fast: { polls: 30, gaveUp: 0 },
  });
});

test("where there is not enough for all, one with rare slots is served once it is overdue", async () => {
  const polled = await seen({ rare: 30_000, fast: 1_000, other: 1_000 }, 2, 240);
  expect(polled["rare"]?.polls).toBeGreaterThanOrEqual(4);
  expect(polled["fast"]?.polls).toBeGreaterThan(10);
  expect(polled["other"]?.polls).toBeGreaterThan(10);
});

test("a confirmation is as urgent as the slot that failed, not as a new one", async () => {
  const sixSecondly = { a: 6_000, b: 6_000, c: 6_000, d: 6_000 };
  const polled = await seen({ failing: 5_000, ...sixSecondly }, 10, 6, "failing");
  expect(polled["failing"]).toMatchObject({ gaveUp: 0 });
});
