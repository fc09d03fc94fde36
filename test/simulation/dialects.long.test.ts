import { describe, expect, test } from "vitest";

import { looksAgain } from "../../src/proof/looking-again.ts";
import { TestLedger } from "../support/test-ledger.ts";
import { Supervisor } from "../../src/kernel/polling/supervisor.ts";
import { DIALECT_NAMES, speak } from "../support/dialects.ts";
import { type Limit, fixedWindow } from "../../src/simulator/meters.ts";
import { RequestLedger } from "../../src/simulator/request-ledger.ts";
import { FakeProbe, StoryRecorder } from "../support/fakes.ts";
import {
  answered,
  observed,
  sampleBudget,
  sampleConfig,
  sampleSchedule,
  sampleUpstream,
} from "../support/kernel-samples.ts";
import { virtualTriggers } from "../support/virtual/triggers.ts";
import { VirtualClock } from "../support/virtual/clock.ts";
import { PROOF_PARTS } from "../../src/app/features/proof.ts";

/**
 * The whole engine in virtual time, against an upstream that speaks of its limit in one way or another. The judge is the
 * upstream's own ledger.
 */

const MINUTE_MS = 60_000;
const LIMIT: Limit = { requests: 60, perMs: MINUTE_MS };
const ANSWER_MS = 80;
const LENGTH_MS = 30 * MINUTE_MS;

/** Three once in four seconds are 45 a minute, three a second 180. */
const CONFIGS = {
  honest: { requests: 60, everyMs: 4_000 },
  mistaken: { requests: 600, everyMs: 1_000 },
} as const;

type Seen = {
  readonly requests: number;
  readonly answered: number;
  readonly refused: number;
  /** Sent after a refusal and before there was room again. */
  readonly early: number;
  /** Of the slots. */
  readonly usedPart: number;
};

async function watch(dialect: string, kind: keyof typeof CONFIGS): Promise<Seen> {
  const { requests, everyMs } = CONFIGS[kind];
  const clock = new VirtualClock();
  const counts = new RequestLedger([LIMIT], fixedWindow, -17_300);
  let early = 0;
  let refusedAtMs = Infinity;
  let roomAtMs = -Infinity;
  const answer = () => {
    const nowMs = clock.now();
    if (nowMs > refusedAtMs + ANSWER_MS && nowMs < roomAtMs) early += 1;
    const verdict = counts.count(nowMs);
    if (!verdict.allowed && nowMs >= roomAtMs) {
      refusedAtMs = nowMs;
      roomAtMs = nowMs + verdict.resetMs;
    }
    const { headers, refusal } = speak(dialect, verdict, clock.wallNow());
    const good = { status: 200, headers: { "Content-Type": "application/json" }, body: "{}" };
    const { status, headers: own, body } = verdict.allowed ? good : refusal;
    const all = Object.entries({ ...headers, ...own });
    const lines = all.map(([name, value]) => [name.toLowerCase(), value] as const);
    return { ...observed(answered(status, lines, body)), durationMs: ANSWER_MS };
  };
  const names = ["a", "b", "c"];
  const upstreams = names.map((name) => sampleUpstream({ name, schedule: sampleSchedule(everyMs, name) }));
  const rates = [{ requests, perMs: MINUTE_MS, label: "1m" }];
  const config = sampleConfig({ budgets: [sampleBudget({ rates })], upstreams });
  const recorders: StoryRecorder[] = [];
  const looks = looksAgain(config, PROOF_PARTS);
  const supervisor = new Supervisor({
    clock,
    ...new TestLedger(config, clock).polling,
    triggers: virtualTriggers(clock),
    recorderOf: () => {
      const recorder = new StoryRecorder();
      recorders.push(recorder);
      return recorder;
    },
    looksOf: (name) => looks.get(name) ?? 0,
    nextPollId: () => "p",
    onBug: (error) => {
      throw error;
    },
  });
  supervisor.apply(config, new Map(names.map((name) => [name, new FakeProbe(clock, answer)])));
  await clock.advance(LENGTH_MS);
  const slots = recorders.reduce((sum, recorder) => sum + recorder.slots, 0);
  return {
    requests: counts.requests,
    answered: counts.requests - counts.violations,
    refused: counts.violations,
    early,
    usedPart: counts.requests / slots,
  };
}

/** They tell no limit or not its window, so it is learned from refusals; or not when more come, so it is met once. */
const REFUSES_A_FEW: Partial<Record<string, number>> = {
  none: 3,
  shopify: 3,
  strava: 3,
  gemini: 3,
  binance: 3,
  cloudflare: 3,
  hubspot: 1,
  docker: 1,
};

describe.each(DIALECT_NAMES)("an upstream that speaks %s", (dialect) => {
  test("is never asked too often by a config that is right, and every slot is used", async () => {
    const { refused, usedPart } = await watch(dialect, "honest");
    expect(refused).toBe(0);
    // A start waits for a window.
    expect(usedPart).toBeGreaterThan(0.95);
  });

  test("is left alone for as long as it asks, and is watched, by a config that is ten times too high", async () => {
    const seen = await watch(dialect, "mistaken");
    expect(seen.early).toBe(0);
    expect(seen.refused).toBeLessThanOrEqual(REFUSES_A_FEW[dialect] ?? 0);
    expect(seen.answered).toBeGreaterThan(0.6 * 30 * LIMIT.requests);
  });
});
