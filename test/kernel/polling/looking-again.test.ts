import { describe, expect, test } from "vitest";
import { looksAgain } from "../../../src/proof/looking-again.ts";
import { TestLedger } from "../../support/test-ledger.ts";
import type { Budget, Upstream } from "../../../src/kernel/config/config.ts";
import { MINUTE_MS, SECOND_MS } from "../../../src/kernel/time/duration.ts";
import { Supervisor } from "../../../src/kernel/polling/supervisor.ts";
import { seededRandom } from "../../../src/simulator/randomness.ts";
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
import { VirtualClock } from "../../support/virtual/clock.ts";
import { virtualTriggers } from "../../support/virtual/triggers.ts";
import { PROOF_PARTS } from "../../../src/app/features/proof.ts";

type Answer = {
  readonly status: number;
  readonly tookMs: number;
  readonly headers?: readonly [string, string][];
};
type Seen = {
  readonly recorder: StoryRecorder;
  readonly probe: FakeProbe;
  readonly changes: { readonly atMs: number; readonly to: string }[];
};

/** What each upstream answers, by the time since the beginning. */
async function watched(
  budgets: readonly Budget[],
  upstreams: readonly Upstream[],
  answer: (name: string, sinceMs: number) => Answer,
  forMs: number,
): Promise<ReadonlyMap<string, Seen>> {
  const clock = new VirtualClock({ wallMs: Date.UTC(2026, 10, 30, 12) });
  const beganMs = clock.now();
  const seen = new Map<string, Seen>(
    upstreams.map(({ name }) => {
      const answering = (): ReturnType<typeof observed> => {
        const { status, tookMs, headers = [] } = answer(name, clock.now() - beganMs);
        return observed(answered(status, headers), tookMs);
      };
      const probe = new FakeProbe(clock, answering);
      return [name, { recorder: new StoryRecorder(), probe, changes: [] }];
    }),
  );
  const of = (name: string): Seen => {
    const found = seen.get(name);
    if (found === undefined) throw new Error(`no upstream ${name}`);
    return found;
  };
  const config = sampleConfig({ budgets, upstreams });
  const looks = looksAgain(config, PROOF_PARTS);
  const supervisor = new Supervisor({
    clock,
    ...new TestLedger(config, clock).polling,
    triggers: virtualTriggers(clock),
    recorderOf: ({ name }) => ({
      record: (event) => {
        of(name).recorder.record(event);
        if (event.kind === "health_changed")
          of(name).changes.push({ atMs: clock.now() - beganMs, to: event.to });
      },
    }),
    looksOf: (name) => looks.get(name) ?? 0,
    nextPollId: () => "p",
    onBug: (error) => {
      throw error;
    },
  });
  supervisor.apply(config, new Map([...seen].map(([name, { probe }]) => [name, probe])));
  await clock.advance(forMs);
  await Promise.all([supervisor.drain(), clock.advance(MINUTE_MS)]);
  return seen;
}

const OK: Answer = { status: 200, tookMs: 50 };
const BROKEN: Answer = { status: 500, tookMs: 50 };
const TEN_MINUTES = sampleSchedule(10 * MINUTE_MS, "email");
const [FROM_MS, UNTIL_MS] = [25 * MINUTE_MS, 38 * MINUTE_MS];

const duringOutage = (_: string, sinceMs: number): Answer =>
  sinceMs >= FROM_MS && sinceMs < UNTIL_MS ? BROKEN : OK;

async function oneWatched(changes: Partial<Upstream>, budget: Partial<Budget> = {}): Promise<Seen> {
  const upstream = sampleUpstream({ schedule: TEN_MINUTES, confirmOverMs: 10_000, ...changes });
  const seen = await watched(
    [sampleBudget({ share: 0.2, ...budget })],
    [upstream],
    duringOutage,
    80 * MINUTE_MS,
  );
  const email = seen.get("email");
  if (email === undefined) throw new Error("it must be watched");
  return email;
}

function originsOf({ recorder }: Seen): ReadonlySet<string> {
  return new Set(recorder.polls.map(({ origin }) => origin));
}

function isBalanced({ recorder: { slots, polls, skipped, inFlight, waiting } }: Seen): boolean {
  return slots === polls.length + skipped && inFlight === 0 && waiting === 0;
}

test("an outage is seen to be over after a quarter of its length, and not at the next slot", async () => {
  const email = await oneWatched({});
  const [, down, up] = email.changes;
  expect([down?.to, up?.to]).toEqual(["down", "up"]);
  const lastedMs = UNTIL_MS - (down?.atMs ?? 0) + 10 * SECOND_MS;
  expect((up?.atMs ?? 0) - UNTIL_MS).toBeLessThanOrEqual(lastedMs / 4 + SECOND_MS);
  expect(originsOf(email)).toContain("again");
  expect(email.recorder.polls.filter(({ origin }) => origin === "again").length).toBeLessThanOrEqual(20);
  expect(isBalanced(email)).toBe(true);
});

test.each([
  ["what is not safe", { method: "POST" as const }],
  ["what is polled by a calendar", { schedule: sampleCron("*/10 * * * *") }],
])("%s is not looked at again between its slots", async (_, changes) => {
  const email = await oneWatched(changes);
  expect(email.changes.map(({ to }) => to)).toContain("down");
  expect(originsOf(email)).not.toContain("again");
});

test("a wall is not looked at again: it takes us for a bot already", async () => {
  const upstream = sampleUpstream({ schedule: TEN_MINUTES });
  const walled: Answer = { status: 403, tookMs: 50, headers: [["cf-mitigated", "challenge"]] };
  const seen = await watched(
    [sampleBudget()],
    [upstream],
    (_, sinceMs) => (sinceMs > FROM_MS ? walled : OK),
    80 * MINUTE_MS,
  );
  const email = seen.get("email");
  expect(email?.changes.at(-1)?.to).toBe("down");
  expect(email?.recorder.polls.map(({ origin }) => origin)).not.toContain("again");
});

describe("where others draw on the same limit", () => {
  test.each([1, 2, 3, 4, 5, 6])(
    "no window holds more than the limit, no slot of theirs is skipped, and each is sent before the next one, world %i",
    async (seed) => {
      const random = seededRandom(seed);
      const budget = sampleBudget({ share: 0.5 });
      const often = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, place) => {
        const name = `often-${place}`;
        return sampleUpstream({ name, schedule: sampleSchedule(30_000, name), timeoutMs: 5_000 });
      });
      const seldom = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, place) => {
        const name = `seldom-${place}`;
        const schedule = sampleSchedule((1 + Math.floor(random() * 5)) * MINUTE_MS, name);
        return sampleUpstream({ name, schedule, timeoutMs: 5_000, confirmOverMs: 10_000 });
      });
      const downFrom = (name: string): number => (name.length * 7_919 + seed * 104_729) % (20 * MINUTE_MS);
      const answer = (name: string, sinceMs: number): Answer => {
        const inMs = sinceMs - downFrom(name);
        if (!name.startsWith("seldom") || inMs < 0 || inMs > 15 * MINUTE_MS) return OK;
        return random() < 0.5 ? BROKEN : { status: 500, tookMs: 10_000 };
      };
      const seen = await watched([budget], [...often, ...seldom], answer, 50 * MINUTE_MS);
      const sent = [...seen.values()]
        .flatMap(({ probe }) => probe.sentAtMs)
        .sort((one, other) => one - other);
      for (const [place, atMs] of sent.entries())
        expect((sent[place + 30] ?? Infinity) - atMs).toBeGreaterThanOrEqual(MINUTE_MS);
      for (const { name } of often) {
        const each = seen.get(name);
        // The cold start may cost the first one.
        const afterStart = each?.recorder.story.slice(1) ?? [];
        expect(afterStart.filter((line) => /^(skipped|gave up)/.test(line))).toEqual([]);
        const delays = each?.recorder.polls
          .filter(({ origin }) => origin === "schedule")
          .map(({ delayMs }) => delayMs);
        expect(Math.max(...(delays ?? [Infinity]))).toBeLessThan(30_000);
      }
      expect([...seen.values()].every(isBalanced)).toBe(true);
    },
  );
});
