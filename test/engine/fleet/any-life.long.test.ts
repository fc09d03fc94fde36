import * as fc from "fast-check";
import { expect, test } from "vitest";

import { RequestLedger } from "../../../src/simulator/request-ledger.ts";
import { sampleFleet } from "../../support/ledger-worlds.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { VirtualRedis } from "../../support/virtual/redis.ts";
import { Replica } from "./replica.ts";

const TIMEOUT_MS = 1_500;
const LINGER_MS = 400;

type Happening = { readonly afterMs: number; readonly replica: number } & {
  readonly kind:
    | "kill"
    | "leave"
    | "cut"
    | "mend"
    | "freeze"
    | "thaw"
    | "redis down"
    | "redis up"
    | "redis emptied"
    | "redis restarted"
    | "redis's clock set forward"
    | "redis's clock set back";
};

type Case = {
  readonly seed: number;
  readonly replicas: number;
  readonly requests: number;
  readonly reserve: number;
  readonly happenings: readonly Happening[];
};

const KINDS: readonly Happening["kind"][] = [
  "cut",
  "mend",
  "freeze",
  "thaw",
  "redis down",
  "redis up",
  "redis emptied",
  "redis restarted",
  "redis's clock set back",
];

/** Whoever is born between the step of a clock and the moment that somebody notices cannot know of it. */
function cases(...more: readonly Happening["kind"][]): fc.Arbitrary<Case> {
  return fc.record({
    seed: fc.nat(),
    replicas: fc.integer({ min: 1, max: 4 }),
    requests: fc.constantFrom(4, 10, 30),
    reserve: fc.constantFrom(0, 0.2, 0.5),
    happenings: fc.array(
      fc.record({
        afterMs: fc.integer({ min: 0, max: 15_000 }),
        replica: fc.nat(3),
        kind: fc.constantFrom(...KINDS, ...more),
      }),
      { maxLength: 14 },
    ),
  });
}

function diceOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const PER_MS = 5_000;

/** Every moment at which the upstream counted a request. */
async function live(one: Case): Promise<readonly number[]> {
  const clock = new VirtualClock();
  const redis = new VirtualRedis(clock);
  const countedAtMs: number[] = [];
  const upstream = {
    timeoutMs: TIMEOUT_MS,
    lingerMs: LINGER_MS,
    count: (atMs: number) => void countedAtMs.push(atMs),
  };
  const world = { clock, redis, upstream, dice: diceOf(one.seed) };
  const rates = [{ requests: one.requests, perMs: PER_MS, label: "5s" }];
  const config = sampleConfig({
    budgets: [sampleBudget({ rates, lingerMs: LINGER_MS })],
    upstreams: [sampleUpstream({ timeoutMs: TIMEOUT_MS })],
  });
  let lives = 0;
  const born = (index: number, generation = ""): Replica =>
    new Replica(
      config,
      sampleFleet({ replicas: one.replicas, reserve: one.reserve, name: `replica${index}${generation}` }),
      `life${(lives += 1)}`,
      world,
    );
  const replicas = Array.from({ length: one.replicas }, (_, index) => born(index));
  await clock.advance(15_000);
  for (const { afterMs, replica: at, kind } of one.happenings) {
    await clock.advance(afterMs);
    const index = at % one.replicas;
    const replica = replicas[index];
    if (kind === "kill") {
      replica?.kill();
      replicas[index] = born(index);
    } else if (kind === "leave") {
      replica?.leave();
      replicas[index] = born(index, `.${lives}`);
    } else if (kind === "cut") replica?.line.cut();
    else if (kind === "mend") replica?.line.mend();
    else if (kind === "freeze") replica?.freeze();
    else if (kind === "thaw") replica?.thaw();
    else if (kind === "redis down") redis.isDown = true;
    else if (kind === "redis up") redis.isDown = false;
    else if (kind === "redis emptied") redis.empty();
    else if (kind === "redis restarted") redis.restart();
    else if (kind === "redis's clock set forward") redis.stepClock(3_700);
    else redis.stepClock(-2_900);
  }
  redis.isDown = false;
  for (const replica of replicas) {
    replica.thaw();
    replica.line.mend();
  }
  await clock.advance(30_000);
  for (const replica of replicas) replica.kill();
  return countedAtMs;
}

function worstWindow(countedAtMs: readonly number[], requests: number): number {
  const ledger = new RequestLedger([{ requests, perMs: PER_MS }], "sliding_log");
  for (const atMs of countedAtMs) ledger.count(atMs);
  return ledger.worstWindow()[0]?.requests ?? 0;
}

test.each([
  ["killed", cases("kill", "kill")],
  ["replaced by others", cases("leave", "leave")],
  ["told a wrong time", cases("redis's clock set forward")],
] as const)(
  "no window holds more than the limit, while replicas are cut off, stopped and %s, and Redis comes and goes",
  async (_name, arbitrary) => {
    await fc.assert(
      fc.asyncProperty(arbitrary, async (one) => {
        const countedAtMs = await live(one);
        expect(worstWindow(countedAtMs, one.requests)).toBeLessThanOrEqual(one.requests);
        // The calm at the end is long enough for every cold start to be over.
        const lastMs = Math.max(...countedAtMs);
        expect(countedAtMs.filter((atMs) => atMs > lastMs - 10_000).length).toBeGreaterThan(1);
      }),
      { seed: 20261121, numRuns: 40 },
    );
  },
);

test("a whole fleet makes use of what it shares", async () => {
  const countedAtMs = await live({
    seed: 1,
    replicas: 3,
    requests: 30,
    reserve: 0.2,
    happenings: [{ afterMs: 60_000, replica: 0, kind: "mend" }],
  });
  const inCalm = countedAtMs.filter((atMs) => atMs > 30_000 && atMs <= 70_000).length;
  // 24 of 30 are shared: leases that are held for as long as their polls take leave some of it unused.
  expect(inCalm / 8).toBeGreaterThan(14);
});

test("without Redis each replica goes on from its own reserve, and with none it does not", async () => {
  const down = (reserve: number): Case => ({
    seed: 2,
    replicas: 2,
    requests: 30,
    reserve,
    happenings: [
      { afterMs: 10_000, replica: 0, kind: "redis down" },
      { afterMs: 40_000, replica: 0, kind: "redis up" },
    ],
  });
  const during = (countedAtMs: readonly number[]): number =>
    countedAtMs.filter((atMs) => atMs > 30_000 && atMs < 60_000).length;
  expect(during(await live(down(0.4)))).toBeGreaterThan(30);
  expect(during(await live(down(0)))).toBe(0);
});
