import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/adapters/clock.ts";
import { openProbe } from "../../../src/adapters/undici/probe.ts";
import type { Rate } from "../../../src/core/config/config.ts";
import { LocalLedger } from "../../../src/core/budget/local-ledger.ts";
import type { Poll } from "../../../src/core/poll/poll.ts";
import { LeaseQueue } from "../../../src/engine/poll/lease-queue.ts";
import { Poller } from "../../../src/engine/poll/poller.ts";
import type { Limit } from "../../../src/simulator/meters.ts";
import {
  type SimulatedUpstream,
  startSimulatedUpstream,
  type UpstreamOptions,
} from "../../../src/simulator/upstream.ts";
import { StoryRecorder } from "../../support/fakes.ts";
import { sampleBudget, sampleConfig, sampleUpstream } from "../../support/samples.ts";
import { systemNames } from "../../support/names.ts";

/**
 * Schedules that ask for more than the limit are refused before they start. So here slots come without any
 * schedule, as fast as they are taken: the engine, the ledger and the probes are the real ones, and so are the
 * sockets. The only judge is the upstream's own count.
 */

const POLLERS = 12;
const RUN_MS = 6_000;
const LATE_MS = 15_000;
/**
 * So small that a fresh start waits for one pace gap only. What the upstream may count is then our share, less than
 * its limit: the stricter promise.
 */
const SHARE = 0.025;

function rate({ requests, perMs }: Limit): Rate {
  return { requests: requests / SHARE, perMs, label: `${perMs}ms` };
}

type Saturation = {
  /** Our share of the upstream's limits. */
  readonly limits: readonly Limit[];
  readonly lingerMs?: number;
  readonly timeoutMs?: number;
  readonly confirm?: number;
  readonly connection?: "fresh" | "reuse";
  /** What must have been seen at the end; a busy machine takes longer to get there. */
  readonly isOver?: (last: Poll | undefined) => boolean;
};

/** Every poller always has a slot waiting, but for a failure that it confirms first. */
async function saturate(
  simulated: SimulatedUpstream,
  saturation: Saturation,
): Promise<readonly StoryRecorder[]> {
  // Longer than this machine may stand still: an upstream that counts after that is another story.
  const { timeoutMs = 10_000, confirm = 0, connection = "fresh", lingerMs = 0 } = saturation;
  const { isOver = () => true } = saturation;
  const names = Array.from({ length: POLLERS }, (_, index) => `poller-${index}`);
  const upstreams = names.map((name) =>
    sampleUpstream({ name, url: `${simulated.url}/v1/resources`, timeoutMs, confirm, connection }),
  );
  const config = sampleConfig({
    budgets: [
      sampleBudget({ rates: saturation.limits.map(rate), share: SHARE, lingerMs, maxPauseMs: 2_000 }),
    ],
    upstreams,
  });
  const bugs: unknown[] = [];
  const onBug = (error: unknown): void => void bugs.push(error);
  const ledger = new LocalLedger(config, systemClock);
  const queue = new LeaseQueue(ledger, systemClock, onBug);
  const parts = {
    clock: systemClock,
    ledger,
    queue,
    nextPollId: () => "poll",
    onBug,
  };
  const crew = await Promise.all(
    upstreams.map(async (upstream) => {
      const probe = await openProbe({
        upstream,
        credential: undefined,
        userAgent: "pacewatch/test",
        clock: systemClock,
        environment: {},
        names: systemNames,
        onWarning: () => {},
      });
      const recorder = new StoryRecorder();
      return { recorder, poller: new Poller(upstream, probe, { ...parts, recorder }) };
    }),
  );
  const untilMs = systemClock.now() + RUN_MS;
  const newest = (): Poll | undefined =>
    crew
      .flatMap(({ recorder }) => recorder.polls)
      .toSorted((a, b) => a.endedAtMs - b.endedAtMs)
      .at(-1);
  while (systemClock.now() < untilMs || (systemClock.now() < untilMs + LATE_MS && !isOver(newest()))) {
    for (const { poller, recorder } of crew) {
      const last = recorder.polls.at(-1);
      const isConfirming = last?.outcome.kind === "failed" && last.origin !== "confirm" && confirm > 0;
      const isBusy = recorder.waiting + recorder.inFlight > 0;
      // A slot that comes first takes the confirmation's place: leave it its time.
      const confirmsUntilMs = (last?.endedAtMs ?? 0) + 1_000;
      if (!isBusy && !(isConfirming && systemClock.wallNow() < confirmsUntilMs)) {
        poller.slot("schedule", systemClock.now());
      }
    }
    // Often enough that a slot is always waiting.
    await sleep(5);
  }
  await Promise.all(crew.map(({ poller }) => poller.stop(timeoutMs)));
  expect(bugs).toEqual([]);
  return crew.map(({ recorder }) => recorder);
}

/** Of what the limit would have let through since the first request. */
function usedPart(
  simulated: SimulatedUpstream,
  { requests, perMs }: { requests: number; perMs: number },
): number {
  const lastMs = simulated.seen.at(-1)?.atMs ?? 0;
  const firstMs = simulated.seen[0]?.atMs ?? 0;
  return simulated.requests / ((requests * (lastMs - firstMs)) / perMs);
}

function expectWithinLimits(simulated: SimulatedUpstream): void {
  const exceeded = simulated.worstWindow().filter(({ limit, requests }) => requests > limit.requests);
  expect(exceeded).toEqual([]);
  expect(simulated.requests).toBeGreaterThan(20);
}

async function upstream(options: Omit<UpstreamOptions, "name">): Promise<SimulatedUpstream> {
  return startSimulatedUpstream({ name: "saturated", dialect: "none", ...options });
}

/** On a quiet machine it is nine tenths; one that is busy with other things as well sends later. */
const LEAST_USED = 0.4;

const LIMIT = { requests: 20, perMs: 2_000 };

describe.concurrent("an upstream of whose limit our share is taken as fast as it is given", () => {
  it.each([
    { algorithm: "sliding_log", connection: "fresh" },
    { algorithm: "fixed_window", connection: "reuse" },
    { algorithm: "token_bucket", connection: "fresh" },
  ] as const)(
    "never counts one request too many by its $algorithm, and much of the limit is used ($connection connections)",
    async ({ algorithm, connection }) => {
      // Delayed before they are counted, and before they are answered: what was sent evenly arrives bunched.
      const delays = { countingDelay: { minMs: 0, maxMs: 200 }, latency: { minMs: 0, maxMs: 200 } };
      await using simulated = await upstream({ limits: [LIMIT], algorithm, ...delays });
      const recorders = await saturate(simulated, { limits: [LIMIT], connection });
      expectWithinLimits(simulated);
      expect(simulated.violations).toBe(0);
      const used = usedPart(simulated, LIMIT);
      process.stdout.write(`limits: ${algorithm}: ${(used * 100).toFixed(0)}% of the share used\n`);
      expect(used).toBeGreaterThan(LEAST_USED);
      for (const recorder of recorders) expect(recorder.closes()).toBe(true);
    },
  );

  it("never counts one too many in its shorter window nor in its longer one", async () => {
    const limits = [{ requests: 5, perMs: 300 }, LIMIT];
    await using simulated = await upstream({ limits, latency: { minMs: 0, maxMs: 200 } });
    await saturate(simulated, { limits });
    expectWithinLimits(simulated);
    expect(simulated.violations).toBe(0);
    expect(usedPart(simulated, LIMIT)).toBeGreaterThan(LEAST_USED);
  });

  it("never counts one too many while it breaks in every way, each failure is confirmed, and it throttles us for nothing", async () => {
    const faults = [
      { kind: "status", code: 500 },
      { kind: "reset", at: "before_head" },
      { kind: "reset", at: "mid_body" },
      { kind: "hang", at: "before_head" },
      { kind: "garbage", text: "220 ready when you are\r\n" },
      { kind: "close", at: "mid_body" },
      { kind: "throttle", retryAfter: "1" },
    ] as const;
    const eachMs = 700;
    await using simulated = await upstream({
      limits: [LIMIT],
      latency: { minMs: 0, maxMs: 100 },
      script: {
        periodMs: Number.POSITIVE_INFINITY,
        entries: faults.map((fault, index) => ({
          fromMs: 500 + index * eachMs,
          untilMs: 500 + (index + 1) * eachMs,
          fault,
          words: fault.kind,
        })),
      },
    });
    const recorders = await saturate(simulated, {
      limits: [LIMIT],
      timeoutMs: 300,
      lingerMs: 1_500,
      confirm: 1,
      isOver: (last) => last?.outcome.kind === "ok",
    });
    expectWithinLimits(simulated);
    const polls = recorders.flatMap((recorder) => recorder.polls);
    expect(polls.length).toBe(simulated.requests);
    expect(polls.filter(({ origin }) => origin === "confirm").length).toBeGreaterThan(5);
    const outcomes = polls.toSorted((a, b) => a.endedAtMs - b.endedAtMs).map(({ outcome }) => outcome.kind);
    expect(outcomes).toContain("throttled");
    expect(outcomes.at(-1)).toBe("ok");
  });
});
