import { describe, expect, test } from "vitest";

import type { Budget, Upstream } from "../../../src/kernel/config/config.ts";
import type { Exchange, Observation } from "../../../src/kernel/exchange/exchange.ts";
import type { Price } from "../../../src/features/quota/price.ts";
import type { Ask, Lease } from "../../../src/kernel/budget/ledger.ts";
import type { Right } from "../../../src/kernel/budget/local-ledger.ts";
import { TestLedger } from "../../support/test-ledger.ts";
import { LeaseQueue, type Waiter } from "../../../src/kernel/polling/lease-queue.ts";
import type { Gate, PollEvent, Ticket } from "../../../src/kernel/poll/ports.ts";
import { Poller } from "../../../src/kernel/polling/poller.ts";
import { FakeProbe, StoryRecorder } from "../../support/fakes.ts";
import {
  answered,
  observed,
  sampleBudget,
  sampleConfig,
  sampleCron,
  sampleSchedule,
  sampleUpstream,
} from "../../support/kernel-samples.ts";
import { sampleAnswerHints } from "../../support/samples.ts";
import { settle, VirtualClock } from "../../support/virtual/clock.ts";

const TIMED_OUT: Exchange = { kind: "broken", fault: "timeout", detail: "", sent: true, head: undefined };

const SILENCE = sampleAnswerHints({
  throttled: true,
  pause: { scope: "budget", forMs: 10_000, source: "retry_after" },
});

type World = {
  readonly ledger: TestLedger;
  readonly clock: VirtualClock;
  readonly probe: FakeProbe;
  readonly recorder: StoryRecorder;
  readonly poller: Poller;
  readonly bugs: unknown[];
};

async function world(
  answer: (turn: number) => Observation,
  changes: {
    budget?: Partial<Budget>;
    upstream?: Partial<Upstream>;
    right?: Right;
    queue?: typeof LeaseQueue;
    looks?: number;
    judgedInMs?: number;
  } = {},
): Promise<World> {
  const clock = new VirtualClock();
  const upstream = sampleUpstream(changes.upstream);
  const config = sampleConfig({ budgets: [sampleBudget(changes.budget)], upstreams: [upstream] });
  const ledger = new TestLedger(config, clock, { right: changes.right });
  const bugs: unknown[] = [];
  const onBug = (error: unknown): void => void bugs.push(error);
  const recorder = new StoryRecorder();
  const probe = new FakeProbe(clock, answer);
  let polls = 0;
  const poller = new Poller(upstream, probe, {
    clock,
    ...ledger.polling,
    queue: new (changes.queue ?? LeaseQueue)(ledger.inner, clock, onBug),
    looksOf: () => changes.looks ?? 0,
    judgeLarge: async (asked, observation, times) => {
      await clock.sleep(changes.judgedInMs ?? 0);
      return ledger.polling.judgeLarge(asked, observation, times);
    },
    recorder,
    nextPollId: () => `p${(polls += 1)}`,
    onBug,
  });
  await clock.advance(120_000);
  return { ledger, clock, probe, recorder, poller, bugs };
}

test("a slot becomes a poll, and the poll is recorded with its delay and duration", async () => {
  const { clock, poller, recorder } = await world(() => observed(answered(200), 40));
  poller.slot("schedule", clock.now() - 3);
  await clock.advance(100);
  expect(recorder.story).toEqual(["schedule ok", "unknown -> up"]);
  expect(recorder.polls[0]).toMatchObject({
    id: "p1",
    delayMs: 3,
    durationMs: 40,
    outcome: { kind: "ok", reason: "" },
  });
});

test("a slot that comes while the last poll still runs is skipped as overlap", async () => {
  const { clock, poller, recorder } = await world(() => observed(answered(200), 20_000));
  poller.slot("schedule", clock.now());
  await clock.advance(15_000);
  poller.slot("schedule", clock.now());
  expect(recorder.story).toEqual(["skipped overlap"]);
  expect(recorder.closes()).toBe(true);
  await clock.advance(10_000);
  expect(recorder.story).toEqual(["skipped overlap", "schedule ok", "unknown -> up"]);
});

test("a slot waits for a lease until the next slot takes its place", async () => {
  const { clock, poller, recorder } = await world(() => observed(answered(200)), {
    budget: { rates: [{ requests: 1, perMs: 60_000, label: "1m" }] },
  });
  poller.slot("schedule", clock.now());
  await clock.advance(15_000);
  poller.slot("schedule", clock.now());
  await settle();
  expect(recorder.waiting).toBe(1);
  await clock.advance(15_000);
  poller.slot("schedule", clock.now());
  expect(recorder.story).toEqual(["schedule ok", "unknown -> up", "gave up budget"]);
  await clock.advance(35_000);
  expect(recorder.story.at(-1)).toBe("schedule ok");
  expect(recorder.closes()).toBe(true);
});

test("a failure counts from when its request was sent, however long its answer waits to be judged", async () => {
  const large = { maxBytes: 70_000, keys: [], release: () => {} };
  const { clock, poller, recorder } = await world(() => ({ ...observed(answered(500), 100), large }), {
    upstream: { confirm: 1, confirmOverMs: 10_000 },
    judgedInMs: 4_000,
  });
  poller.slot("schedule", clock.now());
  await clock.advance(10_000);
  // The confirmation was sent 10 s after the first, and not after its judgement.
  expect(recorder.story).toEqual(["schedule failed"]);
  await clock.advance(4_200);
  expect(recorder.story).toEqual(["schedule failed", "confirm failed", "unknown -> down"]);
});

test("a blip that is over before it must have failed for long is no outage", async () => {
  const over10s = { confirmOverMs: 10_000 };
  const blip = await world((turn) => observed(turn === 1 ? TIMED_OUT : answered(200), 100), {
    upstream: over10s,
  });
  blip.poller.slot("schedule", blip.clock.now());
  await blip.clock.advance(9_900);
  expect(blip.recorder.story).toEqual(["schedule failed"]);
  await blip.clock.advance(5_000);
  expect(blip.recorder.story).toEqual(["schedule failed", "confirm ok", "unknown -> up"]);

  const outage = await world(() => observed(TIMED_OUT, 100), { upstream: over10s });
  outage.poller.slot("schedule", outage.clock.now());
  await outage.clock.advance(5_000);
  // A slot that comes meanwhile counts, and is not enough.
  outage.poller.slot("schedule", outage.clock.now());
  await outage.clock.advance(4_900);
  expect(outage.recorder.story).toEqual(["schedule failed", "schedule failed"]);
  await outage.clock.advance(5_000);
  expect(outage.recorder.story.slice(2)).toEqual(["confirm failed", "unknown -> down"]);
});

test("a failure is confirmed by a poll one pace gap later, not sooner", async () => {
  const { clock, poller, probe, recorder } = await world(() => observed(TIMED_OUT, 100));
  poller.slot("schedule", clock.now());
  await clock.advance(5_000);
  expect(recorder.story).toEqual(["schedule failed", "confirm failed", "unknown -> down"]);
  expect((probe.sentAtMs[1] ?? 0) - (probe.sentAtMs[0] ?? 0)).toBe(1_100);
});

test("a slot that comes before the confirmation is the confirmation", async () => {
  const { clock, poller, recorder } = await world(() => observed(TIMED_OUT, 100), {
    budget: { rates: [{ requests: 3, perMs: 60_000, label: "1m" }] },
  });
  poller.slot("schedule", clock.now());
  await clock.advance(15_000);
  poller.slot("schedule", clock.now());
  await clock.advance(10_000);
  expect(recorder.story).toEqual(["schedule failed", "schedule failed", "unknown -> down"]);
});

test("once down, a further failure asks for no confirmation", async () => {
  const { clock, poller, probe } = await world(() => observed(TIMED_OUT, 100));
  poller.slot("schedule", clock.now());
  await clock.advance(10_000);
  poller.slot("schedule", clock.now());
  await clock.advance(10_000);
  expect(probe.sentAtMs.length).toBe(3);
});

test("after a 429 the budget is silent until it said, and the slots say why", async () => {
  const { clock, poller, probe, recorder } = await world((turn) =>
    turn === 1 ? observed(answered(429, [["retry-after", "20"]])) : observed(answered(200)),
  );
  poller.slot("schedule", clock.now());
  await clock.advance(15_000);
  poller.slot("schedule", clock.now());
  await clock.advance(15_000);
  poller.slot("schedule", clock.now());
  await clock.advance(1_000);
  expect(recorder.story).toEqual([
    "schedule throttled",
    "unknown -> throttled",
    "skipped backoff",
    "schedule ok",
    "throttled -> up",
  ]);
  expect(probe.sentAtMs.length).toBe(2);
  expect(recorder.pauses).toEqual([
    {
      kind: "pause_requested",
      pause: { scope: "budget", forMs: 20_000, source: "retry_after" },
      budgets: ["api"],
      maxPauseMs: 3_600_000,
    },
  ]);
});

test("where an answer only tells that nothing is left, we look again after blind_after", async () => {
  const { clock, poller, probe } = await world(() =>
    observed(
      answered(200, [
        ["x-ratelimit-limit", "100"],
        ["x-ratelimit-remaining", "0"],
        ["x-ratelimit-reset", "86400"],
      ]),
      10,
    ),
  );
  for (let turn = 0; turn < 12; turn += 1) {
    poller.slot("schedule", clock.now());
    await clock.advance(60_000);
  }
  const gapsMs = probe.sentAtMs.slice(1).map((atMs, index) => atMs - (probe.sentAtMs[index] ?? 0));
  // By the first slot after five minutes.
  expect(gapsMs).toEqual([360_000]);
  expect(poller.health.state).toBe("up");
});

test("a hostile pause is kept for max_pause and no longer", async () => {
  for (const status of [429, 503]) {
    const { clock, poller, probe } = await world((turn) =>
      turn === 1 ? observed(answered(status, [["retry-after", "999999999"]])) : observed(answered(200)),
    );
    poller.slot("schedule", clock.now());
    await clock.advance(3_599_000);
    poller.slot("schedule", clock.now());
    await clock.advance(2_000);
    expect(probe.sentAtMs.length).toBe(1);
    poller.slot("schedule", clock.now());
    await clock.advance(1_000);
    expect(probe.sentAtMs.length).toBe(2);
  }
});

test("an answer that comes after its budget has left the config breaks nothing", async () => {
  const { clock, poller, recorder, ledger, bugs } = await world(() =>
    observed(answered(429, [["retry-after", "20"]]), 2_000),
  );
  poller.slot("schedule", clock.now());
  await clock.advance(1_000);
  const stopped = poller.stop(10_000);
  ledger.change(sampleConfig({ budgets: [] }));
  await clock.advance(5_000);
  await stopped;
  expect(recorder.polls).toHaveLength(1);
  expect(bugs).toEqual([]);
});

test.each([
  ["as it was", [sampleBudget()]],
  ["without its budget", []],
])(
  "a pause that the last answer asks for outlives its upstream, which comes back %s",
  async (_how, budgets) => {
    const { clock, poller, ledger, bugs } = await world(() =>
      observed(answered(503, [["retry-after", "999999999"]]), 2_000),
    );
    poller.slot("schedule", clock.now());
    await clock.advance(1_000);
    const stopped = poller.stop(10_000);
    ledger.change(sampleConfig({ budgets }));
    await clock.advance(1_000);
    await stopped;
    expect(ledger.hints.upstreamPausedUntilMs(poller.target.upstream.name)).toBe(clock.now() + 3_600_000);
    expect(bugs).toEqual([]);
  },
);

test("an answer that asks for no pause is no news", async () => {
  const { clock, poller, recorder } = await world(() => observed(answered(429)));
  poller.slot("schedule", clock.now());
  await clock.advance(1_000);
  expect(recorder.story).toEqual(["schedule throttled", "unknown -> throttled"]);
  expect(recorder.pauses).toEqual([]);
});

test("a 503 with Retry-After is down at once, and pauses this upstream only", async () => {
  const { clock, poller, recorder, probe } = await world(() =>
    observed(answered(503, [["retry-after", "30"]])),
  );
  poller.slot("schedule", clock.now());
  await clock.advance(15_000);
  poller.slot("schedule", clock.now());
  expect(recorder.story).toEqual(["schedule failed", "unknown -> down", "skipped backoff"]);
  expect(probe.sentAtMs.length).toBe(1);
});

test("a 503 whose Retry-After is shorter than a failure must last is confirmed like any other, after that", async () => {
  const { clock, poller, recorder, probe } = await world(
    (turn) => observed(turn === 1 ? answered(503, [["retry-after", "2"]]) : answered(200)),
    { upstream: { confirmOverMs: 10_000 } },
  );
  const atMs = clock.now();
  poller.slot("schedule", atMs);
  await clock.advance(14_000);
  expect(recorder.story).toEqual(["schedule failed", "confirm ok", "unknown -> up"]);
  expect(probe.sentAtMs.map((sentAtMs) => sentAtMs - atMs)).toEqual([0, 10_000]);
});

test("a timer that ends a little early throws no confirmation away", async () => {
  const { clock, poller, recorder } = await world(() => observed(answered(503, [["retry-after", "4"]])), {
    upstream: { confirm: 3, confirmOverMs: 6_000, schedule: sampleSchedule(3_600_000) },
  });
  const sleep = clock.sleep.bind(clock);
  clock.sleep = (delayMs, signal) => sleep(delayMs - 0.9, signal);
  poller.slot("schedule", clock.now());
  await clock.advance(30_000);
  expect(recorder.story).toEqual([
    "schedule failed",
    "confirm failed",
    "confirm failed",
    "confirm failed",
    "unknown -> down",
  ]);
});

test("a look that finds no free lease is tried again as soon as any, not after the pause once more", async () => {
  const { clock, ledger, poller, recorder } = await world(
    (turn) => observed(turn === 1 ? answered(503, [["retry-after", "600"]]) : answered(200)),
    {
      budget: { rates: [{ requests: 4, perMs: 120_000, label: "2m" }], share: 1 },
      upstream: { confirmOverMs: 10_000, schedule: sampleSchedule(3_600_000) },
      looks: 3,
    },
  );
  poller.slot("schedule", clock.now());
  await clock.advance(590_000);
  // Another request of the budget: the next one comes 30 s later.
  expect(ledger.take(["api"]).kind).toBe("granted");
  await clock.advance(15_000);
  expect(recorder.story.at(-1)).toBe("unknown -> down");
  await clock.advance(60_000);
  expect(recorder.story.at(-1)).toBe("down -> up");
});

test("what says for how long it fails is looked at again after that", async () => {
  const { clock, poller, recorder, probe } = await world(
    (turn) => observed(turn === 1 ? answered(503, [["retry-after", "30"]]) : answered(200)),
    {
      upstream: { confirmOverMs: 10_000, schedule: sampleSchedule(600_000) },
      looks: 3,
    },
  );
  const atMs = clock.now();
  poller.slot("schedule", atMs);
  await clock.advance(60_000);
  expect(recorder.story).toEqual(["schedule failed", "unknown -> down", "again ok", "down -> up"]);
  expect(probe.sentAtMs.map((sentAtMs) => sentAtMs - atMs)).toEqual([0, 30_007]);
});

test.each([
  ["throttled", 429],
  ["down", 503],
])(
  "slots that a process which stood still slept through are held back by a pause that was asked for, and it stays %s",
  async (state, status) => {
    const { clock, poller, recorder } = await world(() =>
      observed(answered(status, [["retry-after", "300"]])),
    );
    poller.slot("schedule", clock.now());
    await clock.advance(60_000);
    poller.missed(4);
    expect(recorder.story.at(-1)).toBe("skipped backoff x4");
    expect(poller.health.state).toBe(state);
    await clock.advance(300_000);
    poller.missed(4);
    expect(recorder.story.slice(-2)).toEqual(["skipped missed x4", `${state} -> unknown`]);
  },
);

test.each(["0", "Fri, 01 Jan 1999 00:00:00 GMT"])(
  "a 503 that asks for no wait (Retry-After: %s) is confirmed like any other failure",
  async (retryAfter) => {
    const { clock, poller, recorder } = await world((turn) =>
      observed(turn === 1 ? answered(503, [["retry-after", retryAfter]]) : answered(200)),
    );
    poller.slot("schedule", clock.now());
    await clock.advance(10_000);
    expect(recorder.story).toEqual(["schedule failed", "confirm ok", "unknown -> up"]);
  },
);

test("a shorter wait that an answer asks for does not end a longer one that began while it was on its way", async () => {
  const { clock, ledger, poller, probe } = await world(() =>
    observed(answered(503, [["retry-after", "5"]]), 2_000),
  );
  poller.slot("schedule", clock.now());
  await clock.advance(1_000);
  ledger.hints.pause(poller.target.upstream.name, 600_000);
  for (let slot = 0; slot < 40; slot += 1) {
    await clock.advance(14_900);
    poller.slot("schedule", clock.now());
  }
  expect(probe.sentAtMs.length).toBe(1);
  await clock.advance(15_000);
  poller.slot("schedule", clock.now());
  await clock.advance(0);
  expect(probe.sentAtMs.length).toBe(2);
});

test.each([
  [401, "rejected"],
  [404, "failed"],
  [403, "throttled"],
  [418, "throttled"],
])("a %i with Retry-After is not asked again before that, not even to confirm", async (status, outcome) => {
  const { clock, poller, recorder, probe } = await world(() =>
    observed(answered(status, [["retry-after", "60"]])),
  );
  for (let slot = 0; slot < 4; slot += 1) {
    poller.slot("schedule", clock.now());
    await clock.advance(14_000);
  }
  expect(probe.sentAtMs.length).toBe(1);
  expect(recorder.story.filter((line) => line.startsWith("schedule"))).toEqual([`schedule ${outcome}`]);
});

test("an unconfirmed failure that asked for a pause is confirmed by the first poll after it", async () => {
  const { clock, poller, recorder } = await world(() => observed(answered(401, [["retry-after", "20"]])));
  poller.slot("schedule", clock.now());
  await clock.advance(21_000);
  poller.slot("schedule", clock.now());
  await clock.advance(1_000);
  expect(recorder.story).toEqual(["schedule rejected", "schedule rejected", "unknown -> unauthorized"]);
});

const WALL = answered(403, [["cf-mitigated", "challenge"]]);

test("a wall is asked once more, half a minute later, and never again for confirmation", async () => {
  const { clock, poller, recorder, probe } = await world(() => observed(WALL), { upstream: { confirm: 5 } });
  poller.slot("schedule", clock.now());
  await clock.advance(29_000);
  expect(probe.sentAtMs.length).toBe(1);
  await clock.advance(120_000);
  expect(recorder.story).toEqual(["schedule failed", "confirm failed", "unknown -> down"]);
});

test("a pause that comes before the confirmation cancels it", async () => {
  const { clock, poller, recorder, ledger } = await world(() => observed(TIMED_OUT, 100), {
    budget: { rates: [{ requests: 12, perMs: 60_000, label: "1m" }] },
  });
  poller.slot("schedule", clock.now());
  await clock.advance(1_000);
  ledger.hints.heard(["api"], SILENCE);
  await clock.advance(14_000);
  expect(recorder.story).toEqual(["schedule failed"]);
  poller.slot("schedule", clock.now());
  await clock.advance(1_000);
  expect(recorder.story).toEqual(["schedule failed", "schedule failed"]);
});

test("a confirmation that waits for its lease leaves the line when a pause comes", async () => {
  const { clock, poller, recorder, ledger } = await world(
    (turn) => observed(turn === 1 ? answered(200) : TIMED_OUT, 100),
    { budget: { rates: [{ requests: 2, perMs: 60_000, label: "1m" }] } },
  );
  poller.slot("schedule", clock.now());
  await clock.advance(30_000);
  poller.slot("schedule", clock.now());
  await clock.advance(30_120);
  expect(recorder.waiting).toBe(1);
  ledger.hints.heard(["api"], SILENCE);
  await clock.advance(1_000);
  expect(recorder.story).toEqual(["schedule ok", "unknown -> up", "schedule failed", "gave up backoff"]);
  expect(recorder.closes()).toBe(true);
});

test("a probe that throws is our bug: counted as internal, the lease settled, the next slot polled", async () => {
  const { clock, poller, recorder, bugs } = await world((turn) => {
    if (turn === 1) throw new Error("a bug");
    return observed(answered(200));
  });
  poller.slot("schedule", clock.now());
  await clock.advance(2_000);
  expect(recorder.polls[0]?.outcome).toEqual({ kind: "ours", reason: "bug" });
  expect(bugs.length).toBe(1);
  poller.slot("schedule", clock.now());
  await clock.advance(2_000);
  expect(recorder.polls[1]?.outcome).toEqual({ kind: "ok", reason: "" });
  expect(recorder.closes()).toBe(true);
});

test("a lease that cannot be settled is our bug, and the next slot is polled", async () => {
  class BrokenOnce extends LeaseQueue {
    #isBroken = true;

    override enter(waiter: Waiter): Ticket {
      const granted = (lease: Lease): void => {
        const settle = this.#isBroken ? broken : lease.settle.bind(lease);
        this.#isBroken = false;
        waiter.granted({ isUsable: () => lease.isUsable(), settle, ended: (poll) => lease.ended(poll) });
      };
      return super.enter({ ...waiter, granted });
    }
  }
  const broken = (): never => {
    throw new Error("a bug");
  };
  const { clock, poller, recorder, bugs } = await world(() => observed(answered(200)), {
    queue: BrokenOnce,
  });
  poller.slot("schedule", clock.now());
  await clock.advance(2_000);
  expect(bugs.length).toBe(1);
  poller.slot("schedule", clock.now());
  await clock.advance(2_000);
  expect(recorder.polls.map(({ outcome }) => outcome.kind)).toEqual(["ok"]);
  expect(recorder.closes()).toBe(true);
});

test("an upstream that moves to another budget is not looked at with a lease of the one before", async () => {
  const asked: (() => void)[] = [];
  class Slow extends LeaseQueue {
    override async takeFree(ask: Ask): Promise<Lease | undefined> {
      const lease = await super.takeFree(ask);
      await new Promise<void>((resolve) => asked.push(resolve));
      return lease;
    }
  }
  const { clock, poller, probe, recorder, ledger } = await world(() => observed(TIMED_OUT, 100), {
    upstream: { confirm: 0, schedule: sampleSchedule(600_000) },
    queue: Slow,
    looks: 5,
  });
  poller.slot("schedule", clock.now());
  await clock.advance(60_000);
  expect(asked.length).toBe(1);
  const sent = probe.sentAtMs.length;
  const moved = sampleUpstream({ confirm: 0, schedule: sampleSchedule(600_000), budgets: ["other"] });
  ledger.change(
    sampleConfig({ budgets: [sampleBudget(), sampleBudget({ name: "other" })], upstreams: [moved] }),
  );
  await poller.reconfigure(moved, probe);
  asked[0]?.();
  await settle();
  expect(probe.sentAtMs.length).toBe(sent);
  expect(recorder.closes()).toBe(true);
  await poller.stop(0);
});

test("on the way down a waiting slot is given up, a poll in flight ends, and nothing is polled again", async () => {
  const { clock, poller, recorder, probe } = await world(() => observed(answered(200), 3_000));
  poller.slot("schedule", clock.now());
  await settle();
  const stopped = poller.stop(10_000);
  await clock.advance(3_000);
  await stopped;
  poller.slot("schedule", clock.now());
  expect(recorder.story).toEqual(["schedule ok", "unknown -> up"]);
  expect(recorder.closes()).toBe(true);
  expect(probe.isClosed).toBe(true);
});

test("a poll that outlasts the grace is cut off, and is nobody's failure but ours", async () => {
  const { clock, poller, recorder } = await world(() => observed(answered(200), 60_000));
  poller.slot("schedule", clock.now());
  await settle();
  const stopped = poller.stop(10_000);
  await clock.advance(10_000);
  await stopped;
  expect(recorder.polls[0]?.outcome).toEqual({ kind: "ours", reason: "bug" });
  expect(recorder.closes()).toBe(true);
});

test("a changed upstream polls anew from its next slot; the poll in flight ends as it began", async () => {
  const { clock, poller, recorder, probe } = await world(() => observed(answered(200), 3_000));
  poller.slot("schedule", clock.now());
  await settle();
  const next = new FakeProbe(clock, () => observed(answered(500)));
  const changed = poller.reconfigure(sampleUpstream({ confirm: 0 }), next);
  expect(probe.isClosed).toBe(false);
  await clock.advance(4_000);
  await changed;
  expect(probe.isClosed).toBe(true);
  poller.slot("schedule", clock.now());
  await clock.advance(1_000);
  expect(recorder.story).toEqual(["schedule ok", "unknown -> up", "schedule failed", "up -> down"]);
});

const DEAR: Price = {
  currency: "EUR",
  parts: [{ kind: "answer", of: "/usage", per: 1, units: 1, mostUnits: 1_000 }],
};

test.each([
  { was: "a lower price", price: { currency: "EUR", parts: [{ kind: "request", units: 10 }] }, spent: 10 },
  { was: "no price", price: undefined, spent: 1_000 },
] as const)("a slot that waited with $was is sent only if there is money for the new one", async (before) => {
  const rates = [{ requests: 1, perMs: 60_000, label: "1m" }];
  const spend = { most: 1_005, perMs: 30 * 86_400_000, onExhaust: "stop" } as const;
  const { price } = before;
  const { clock, ledger, poller, probe } = await world(() => observed(answered(200)), {
    budget: { rates, spend },
    upstream: { price },
  });
  poller.slot("schedule", clock.now());
  await clock.advance(1_000);
  poller.slot("schedule", clock.now());
  await settle();
  const next = new FakeProbe(clock, () => observed(answered(200)));
  await poller.reconfigure(sampleUpstream({ price: DEAR }), next);
  for (let slot = 0; slot < 3; slot += 1) {
    await clock.advance(70_000);
    poller.slot("schedule", clock.now());
  }
  expect(probe.sentAtMs).toHaveLength(1);
  expect(next.sentAtMs).toHaveLength(before.spent === 1_000 ? 1 : 0);
  expect(ledger.quotas.of("api", "money")?.used).toBe(before.spent);
});

test("a slot that one of several budgets held back says which one", async () => {
  const clock = new VirtualClock();
  const upstream = sampleUpstream({ budgets: ["account", "model"] });
  const rates = [{ requests: 1, perMs: 60_000, label: "1m" }];
  const budgets = [sampleBudget({ name: "account" }), sampleBudget({ name: "model", rates })];
  const ledger = new TestLedger(sampleConfig({ budgets, upstreams: [upstream] }), clock);
  const onBug = (error: unknown): never => {
    throw error;
  };
  const skips: object[] = [];
  const recorder = {
    record: (event: PollEvent): void => {
      if (event.kind === "slots_skipped") skips.push({ cause: event.cause, budget: event.budget });
    },
  };
  const probe = new FakeProbe(clock, () => observed(answered(200)));
  const queue = new LeaseQueue(ledger.inner, clock, onBug);
  const parts = { clock, ...ledger.polling, queue, recorder, onBug, nextPollId: () => "p" };
  const poller = new Poller(upstream, probe, parts);
  await clock.advance(120_000);
  for (let slot = 0; slot < 3; slot += 1) {
    poller.slot("schedule", clock.now());
    await clock.advance(10_000);
  }
  await clock.advance(120_000);
  ledger.hints.heard(["account"], SILENCE);
  poller.slot("schedule", clock.now());
  expect(skips).toEqual([
    { cause: "budget", budget: "model" },
    { cause: "backoff", budget: "account" },
  ]);
  expect(probe.sentAtMs).toHaveLength(2);
});

test("a gate that another one takes the place of is closed, and one that stays is closed at the end", async () => {
  const clock = new VirtualClock();
  const upstream = sampleUpstream();
  const { polling, inner } = new TestLedger(sampleConfig({ upstreams: [upstream] }), clock);
  const onBug = (error: unknown): never => {
    throw error;
  };
  const closed: string[] = [];
  const gateOf = (name: string): Gate => ({ close: () => void closed.push(name) });
  const lasting = gateOf("lasting");
  const probe = new FakeProbe(clock, () => observed(answered(200)));
  const poller = new Poller(upstream, probe, {
    clock,
    ...polling,
    equip: (of) => ({ ...polling.equip(of), gates: [lasting, gateOf(`confirm ${of.confirm}`)] }),
    queue: new LeaseQueue(inner, clock, onBug),
    recorder: new StoryRecorder(),
    nextPollId: () => "p",
    onBug,
  });
  await poller.reconfigure(sampleUpstream({ confirm: 5 }), probe);
  expect(closed).toEqual([`confirm ${upstream.confirm}`]);
  await poller.stop(0);
  expect(closed).toEqual([`confirm ${upstream.confirm}`, "lasting", "confirm 5"]);
});

test.each([
  ["its budget", ({ ledger }: World) => ledger.hints.heard(["api"], SILENCE)],
  ["its upstream", ({ ledger, poller }: World) => ledger.hints.pause(poller.target.upstream.name, 10_000)],
])("a poll that still connects when a pause of %s comes is not written into it", async (_, pause) => {
  const scene = await world(() => observed(answered(200)));
  const { clock, poller, probe, recorder } = scene;
  const sentAtMs: number[] = [];
  probe.poll = async (_signal, mayWrite = () => true) => {
    await clock.sleep(2_000);
    if (!mayWrite()) return observed({ ...TIMED_OUT, sent: false });
    sentAtMs.push(clock.now());
    return observed(answered(200));
  };
  poller.slot("schedule", clock.now());
  await clock.advance(1_000);
  pause(scene);
  await clock.advance(3_000);
  expect(sentAtMs).toEqual([]);
  expect(recorder.story).toEqual(["skipped backoff"]);
  await clock.advance(10_000);
  poller.slot("schedule", clock.now());
  await clock.advance(3_000);
  expect(sentAtMs).toHaveLength(1);
});

test.each([
  ["its budget goes with it", () => {}, []],
  [
    "a pause of its budget comes",
    ({ ledger }: World) => ledger.hints.heard(["api"], SILENCE),
    [sampleBudget()],
  ],
])("what still connects when its poller is stopped is not written: %s", async (_, then, budgets) => {
  const scene = await world(() => observed(answered(200)));
  const { clock, poller, probe, recorder, ledger, bugs } = scene;
  let written = 0;
  probe.poll = async (_signal, mayWrite = () => true) => {
    await clock.sleep(2_000);
    if (!mayWrite()) return observed({ ...TIMED_OUT, sent: false });
    written += 1;
    return observed(answered(200));
  };
  poller.slot("schedule", clock.now());
  await clock.advance(1_000);
  const stopped = poller.stop(10_000);
  ledger.change(sampleConfig({ budgets }));
  then(scene);
  await clock.advance(3_000);
  await stopped;
  expect(written).toBe(0);
  expect(recorder.story).toEqual(["skipped shutdown"]);
  expect(bugs).toEqual([]);
});

test("what failed before a pause is not confirmed by the first failure after it, where its confirmation still connected", async () => {
  const { clock, poller, probe, recorder, ledger } = await world(() => observed(TIMED_OUT));
  poller.slot("schedule", clock.now());
  await clock.advance(1);
  probe.poll = async (_signal, mayWrite = () => true) => {
    await clock.sleep(2_000);
    return observed(mayWrite() ? TIMED_OUT : { ...TIMED_OUT, sent: false });
  };
  await clock.advance(2_000);
  ledger.hints.heard(["api"], SILENCE);
  await clock.advance(14_000);
  poller.slot("schedule", clock.now());
  await clock.advance(2_500);
  expect(recorder.story).toEqual(["schedule failed", "skipped backoff", "schedule failed"]);
});

test("slots for which the right to send has ended leave it unknown after three, as those that were skipped do", async () => {
  let isHeld = true;
  const unsent: Exchange = { ...TIMED_OUT, sent: false };
  const answer = (): Observation => observed(isHeld ? answered(200) : unsent);
  const { clock, poller, recorder } = await world(answer, {
    right: { startsAtMs: () => 0, maySend: () => isHeld },
  });
  for (const held of [true, false, false, false, false]) {
    isHeld = held;
    poller.slot("schedule", clock.now());
    await clock.advance(15_000);
  }
  expect(recorder.story.filter((line) => line.includes("->"))).toEqual(["unknown -> up", "up -> unknown"]);
});

describe("a slot is owed a poll", () => {
  const asks = observed(answered(429, [["retry-after", "60"]]));

  test("since the last one ended", async () => {
    const { clock, poller } = await world(() => observed(answered(200), 3_000));
    const startedMs = clock.wallNow();
    expect(poller.owedSinceMs).toBeLessThanOrEqual(startedMs);
    poller.slot("schedule", clock.now());
    await clock.advance(10_000);
    const endedMs = poller.owedSinceMs;
    expect(endedMs - startedMs).toBeGreaterThanOrEqual(3_000);
    poller.missed(2);
    await clock.advance(60_000);
    expect(poller.owedSinceMs).toBe(endedMs);
  });

  test("but for those of a pause that was asked for", async () => {
    const { clock, poller } = await world(() => asks);
    poller.slot("schedule", clock.now());
    await clock.advance(30_000);
    poller.slot("schedule", clock.now());
    expect(poller.owedSinceMs).toBe(clock.wallNow());
  });

  test("since its schedule was set, as another one had other slots", async () => {
    const { clock, poller, probe } = await world(() => observed(answered(200)));
    const weekly = sampleCron("0 9 * * 1");
    await clock.advance(1_000);
    const before = poller.owedSinceMs;
    await poller.reconfigure(sampleUpstream({ confirm: 3 }), probe);
    expect(poller.owedSinceMs).toBe(before);
    await poller.reconfigure(sampleUpstream({ schedule: weekly }), probe);
    expect(poller.owedSinceMs).toBe(clock.wallNow());
  });
});
