import { describe, expect, test } from "vitest";
import { TestLedger } from "../../support/test-ledger.ts";
import type { Upstream } from "../../../src/kernel/config/config.ts";
import type { Price } from "../../../src/features/quota/price.ts";
import { HOUR_MS } from "../../../src/kernel/time/duration.ts";
import { Supervisor } from "../../../src/kernel/polling/supervisor.ts";
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
import { settle, VirtualClock } from "../../support/virtual/clock.ts";
import { virtualTriggers } from "../../support/virtual/triggers.ts";

type World = {
  readonly clock: VirtualClock;
  readonly supervisor: Supervisor;
  readonly recorder: StoryRecorder;
};

/** Each poll is answered after so long. */
function started(changes: Partial<Upstream>, answersInMs: number, clock = new VirtualClock()): World {
  const upstream = sampleUpstream({ name: "email", ...changes });
  const config = sampleConfig({ budgets: [sampleBudget()], upstreams: [upstream] });
  const recorder = new StoryRecorder();
  const supervisor = new Supervisor({
    clock,
    ...new TestLedger(config, clock).polling,
    triggers: virtualTriggers(clock),
    recorderOf: () => recorder,
    nextPollId: () => "p",
    onBug: (error) => {
      throw error;
    },
  });
  const probe = new FakeProbe(clock, () => ({ ...observed(answered(200)), durationMs: answersInMs }));
  supervisor.apply(config, new Map([["email", probe]]));
  return { clock, supervisor, recorder };
}

/** With a poll in flight. */
async function polling(answersInMs: number, timeoutMs = 30_000): Promise<World> {
  const world = started({ timeoutMs }, answersInMs);
  while (world.recorder.inFlight === 0) await world.clock.advance(1);
  return world;
}

/** How the poll ended, and when everything was over. */
async function endOf(world: World, ending: Promise<void>): Promise<{ tookMs: number; outcome: string }> {
  const fromMs = world.clock.now();
  const over = new AbortController();
  void ending.then(() => over.abort());
  for (await settle(); !over.signal.aborted; await settle()) await world.clock.advance(10);
  const tookMs = world.clock.now() - fromMs;
  await world.clock.advance(600_000);
  expect(world.recorder.polls).toHaveLength(1);
  return { tookMs, outcome: world.recorder.polls[0]?.outcome.kind ?? "none" };
}

/** A drain waits for what has left by then. */
function left({ supervisor }: World): Promise<void> {
  supervisor.apply(sampleConfig({ upstreams: [] }), new Map());
  return supervisor.drain();
}

test("what leaves the config may end its poll, and polls no more", async () => {
  const world = await polling(5_000);
  const { tookMs, outcome } = await endOf(world, left(world));
  expect(outcome).toBe("ok");
  expect(tookMs).toBeGreaterThan(4_000);
  expect(tookMs).toBeLessThanOrEqual(5_010);
});

test.each([
  ["its own timeout", 4_000, 4_000],
  ["ten seconds", 30_000, 10_000],
])("a drain waits for a poll no longer than %s", async (_, timeoutMs, graceMs) => {
  for (const end of [left, ({ supervisor }: World) => supervisor.drain()]) {
    const world = await polling(25_000, timeoutMs);
    const ending = end(world);
    const { tookMs, outcome } = await endOf(world, ending);
    expect(outcome).toBe("ours");
    expect(tookMs).toBe(graceMs);
  }
});

test.each([
  ["stopped", (clock: VirtualClock) => clock.stall(100_000)],
  ["suspended with its machine", (clock: VirtualClock) => clock.stepWall(100_000)],
])("a poll that was under way while the process was %s is ours, and the next one is not", async (_, stop) => {
  const { clock, recorder } = await polling(100);
  stop(clock);
  await clock.advance(200_000);
  const [first, ...others] = recorder.polls;
  expect(first?.outcome).toEqual({ kind: "ours", reason: "suspended" });
  expect(first?.withinObjective).toBe(false);
  expect(new Set(others.map(({ outcome }) => outcome.kind))).toEqual(new Set(["ok"]));
});

test("a slow answer is theirs, however slow", async () => {
  const { clock, recorder } = await polling(25_000);
  await clock.advance(26_000);
  expect(recorder.polls[0]?.outcome.kind).toBe("ok");
});

describe("before its first slot", () => {
  const hourly = sampleSchedule(HOUR_MS, "email");
  const officeHours = sampleCron("*/15 * 8-17 * * MON-FRI", "Europe/Berlin");
  const at = (wallMs: number): VirtualClock => new VirtualClock({ wallMs });
  /** `perRequest` is in billionths. */
  const priceOf = (perRequest: number): Price => ({
    currency: "EUR",
    parts: [{ kind: "request", units: perRequest }],
  });

  test.each<[string, Partial<Upstream>, number]>([
    ["a new upstream is polled once", { schedule: hourly }, 1],
    ["one that is free is polled once", { schedule: hourly, price: priceOf(0) }, 1],
    ["a poll that costs money is not sent", { schedule: hourly, price: priceOf(1) }, 0],
    ["what is not safe is not sent", { schedule: hourly, method: "POST" }, 0],
    ["nothing is sent outside a cron", { schedule: officeHours }, 0],
  ])("%s", async (_, changes, polls) => {
    const saturdayNight = at(Date.UTC(2026, 10, 28, 23, 30));
    const { clock, supervisor, recorder } = started(changes, 100, saturdayNight);
    await clock.advance(10 * 60_000);
    expect(recorder.polls).toHaveLength(polls);
    await supervisor.drain();
  });

  test("office hours are polled from their first second on", async () => {
    const mondayMorning = at(Date.UTC(2026, 10, 30, 6, 50));
    const { clock, supervisor, recorder } = started({ schedule: officeHours }, 100, mondayMorning);
    await clock.advance(10 * 60_000 + 31_000);
    expect(recorder.polls.map(({ sentAtMs }) => new Date(sentAtMs).toISOString())).toEqual([
      "2026-11-30T07:00:00.000Z",
      "2026-11-30T07:00:15.000Z",
      "2026-11-30T07:00:30.000Z",
    ]);
    await supervisor.drain();
  });
});
