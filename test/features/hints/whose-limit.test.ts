/**
 * An upstream draws on a model's budget and on its account's, and is refused. Whose limit it was is known to the owner
 * alone, who counts here by itself, and says nothing of it.
 */

import { judgingOf } from "../../../src/app/features/judging.ts";
import { HINTS } from "../../../src/features/hints/fields/answer-hints.ts";
import { expect, test } from "vitest";
import { TestLedger } from "../../support/test-ledger.ts";
import type { Headers } from "../../../src/kernel/exchange/exchange.ts";
import { judge } from "../../../src/kernel/polling/poll-once.ts";
import { sampleBudget, sampleConfig, samplePollTimes, sampleUpstream } from "../../support/kernel-samples.ts";
import { sampleAnswerHints } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const MINUTE_MS = 60_000;
const STEP_MS = 500;

const budgetOf = (name: string, requests: number): ReturnType<typeof sampleBudget> =>
  sampleBudget({ name, rates: [{ requests, perMs: MINUTE_MS, label: "1m" }], share: 0.5 });

/** Every 5 s, 10 s and 10 s. */
const UPSTREAMS = [
  sampleUpstream({ name: "completions", budgets: ["gpt", "account"] }),
  sampleUpstream({ name: "other completions", budgets: ["claude", "account"] }),
  sampleUpstream({ name: "list of models", budgets: ["account"] }),
];
const PERIODS_MS = [5_000, 10_000, 10_000];

type Request = { readonly by: string; readonly atMs: number; readonly isRefused: boolean };
type Truth = {
  readonly counts: (by: string) => boolean;
  readonly perMinute: number;
  readonly tells?: Headers;
};

/** What the owner counted, in ten minutes and more. */
async function watch({ counts, perMinute, tells = [] }: Truth): Promise<{
  readonly requests: readonly Request[];
  readonly ledger: TestLedger;
}> {
  const clock = new VirtualClock();
  const budgets = [budgetOf("gpt", 60), budgetOf("claude", 60), budgetOf("account", 600)];
  const ledger = new TestLedger(sampleConfig({ budgets, upstreams: UPSTREAMS }), clock);
  await clock.advance(3 * MINUTE_MS);
  const beganMs = clock.now();
  const requests: Request[] = [];
  const dueMs = UPSTREAMS.map((_, index) => beganMs + index * STEP_MS);
  while (clock.now() < beganMs + 12 * MINUTE_MS) {
    for (const [index, upstream] of UPSTREAMS.entries()) {
      if (clock.now() < (dueMs[index] ?? 0)) continue;
      dueMs[index] = (dueMs[index] ?? 0) + (PERIODS_MS[index] ?? 0);
      const decision = ledger.take(upstream.budgets);
      if (decision.kind === "wait") continue;
      const atMs = clock.now() - beganMs;
      const { name: by } = upstream;
      const counted = requests.filter(
        (each) => counts(each.by) && !each.isRefused && each.atMs > atMs - MINUTE_MS,
      );
      const isRefused = counts(by) && counted.length >= perMinute;
      requests.push({ by, atMs, isRefused });
      decision.lease.settle("answered");
      const { said } = judge(
        upstream,
        {
          exchange: {
            kind: "answered",
            head: {
              status: isRefused ? 429 : 200,
              reasonPhrase: "",
              headers: isRefused || !counts(by) ? [] : tells,
            },
            body: new TextEncoder().encode(isRefused ? '{"error": "Too many requests"}' : '{"data": []}'),
          },
          durationMs: 10,
          phasesMs: {},
          withoutKeys: String,
          certificateExpiresAtMs: undefined,
        },
        samplePollTimes({ sentAtMs: clock.wallNow(), endedAtMs: clock.wallNow() }),
        judgingOf(upstream),
      );
      const answerHints = HINTS.of(said);
      if (answerHints !== undefined) ledger.hints.heard(upstream.budgets, answerHints);
    }
    await clock.advance(STEP_MS);
  }
  return { requests, ledger };
}

const isCompletion = (by: string): boolean => by === "completions";

test("a model that refuses without a word pauses nobody else of its account", async () => {
  const { requests } = await watch({ counts: isCompletion, perMinute: 6 });
  expect(requests.filter(({ isRefused }) => isRefused).map(({ by }) => by)).toContain("completions");
  for (const by of ["other completions", "list of models"]) {
    const times = requests.filter((each) => each.by === by).map(({ atMs }) => atMs);
    // Each of its slots was polled.
    expect(times.length).toBe(72);
  }
});

test("a model's limit that good answers tell lowers no cap of its account", async () => {
  const tells = [["x-ratelimit-limit-requests", "6"]] as const;
  const { ledger } = await watch({ counts: isCompletion, perMinute: 6, tells });
  expect(ledger.inner.ratesOf("account")?.map(({ cap }) => cap)).toEqual([300]);
});

test("where it is the account that refuses, one refusal more than from one budget alone tells so", async () => {
  const { requests } = await watch({ counts: () => true, perMinute: 20 });
  const refused = requests.filter(({ isRefused }) => isRefused);
  expect(refused.length).toBeGreaterThan(1);
  // A burst of refusals ends with the pause of all: nothing is sent for a whole window then.
  const bursts = refused.filter(
    ({ atMs }, index) => atMs - (refused[index - 1]?.atMs ?? -Infinity) > MINUTE_MS,
  );
  expect(refused.length).toBeLessThanOrEqual(2 * bursts.length);
});

test("two parts that are refused within a window show that it is the account", () => {
  const clock = new VirtualClock();
  const budgets = [budgetOf("gpt", 60), budgetOf("claude", 60), budgetOf("account", 600)];
  const ledger = new TestLedger(sampleConfig({ budgets, upstreams: UPSTREAMS }), clock);
  const refuse = (name: string): object => {
    const answerHints = {
      throttled: true,
      pause: { scope: "budget", forMs: 30_000, source: "retry_after" },
      families: [],
      remaining: undefined,
      exhaustedPerMs: undefined,
      malformed: 0,
    } as const;
    return Object.fromEntries(ledger.hints.heard([name, "account"], answerHints) ?? []);
  };
  const isPaused = (): boolean => ledger.hints.pausedUntilMs(["account"]) > clock.now();
  expect(refuse("gpt")).toEqual({ gpt: "most_specific" });
  expect(refuse("gpt")).toEqual({ gpt: "most_specific" });
  expect(isPaused()).toBe(false);
  expect(refuse("claude")).toEqual({ claude: "most_specific", account: "others_refused" });
  expect(isPaused()).toBe(true);
});

test("why it is this budget's limit is no longer said once an answer pauses it that can be no other's", () => {
  const budgets = [budgetOf("gpt", 60), budgetOf("claude", 60), budgetOf("account", 600)];
  const { hints } = new TestLedger(sampleConfig({ budgets, upstreams: UPSTREAMS }), new VirtualClock());
  const pause = { scope: "budget", forMs: 30_000, source: "rate_limit" } as const;
  const ofAccount = { ...sampleAnswerHints({ isOfWholeAccount: true }), pause };
  hints.heard(["gpt", "account"], ofAccount);
  expect(hints.statusOf("account")?.refusedWhy).toBe("whole_account");
  hints.heard(["account"], ofAccount);
  expect(hints.statusOf("account")?.refusedWhy).toBeUndefined();
});

test("two parts that are refused in different windows are two limits", async () => {
  const clock = new VirtualClock();
  const budgets = [budgetOf("gpt", 60), budgetOf("claude", 60), budgetOf("account", 600)];
  const ledger = new TestLedger(sampleConfig({ budgets, upstreams: UPSTREAMS }), clock);
  const answerHints = {
    throttled: true,
    pause: undefined,
    families: [],
    remaining: undefined,
    exhaustedPerMs: undefined,
    malformed: 0,
  } as const;
  ledger.hints.heard(["gpt", "account"], answerHints);
  await clock.advance(MINUTE_MS + 1);
  expect([...(ledger.hints.heard(["claude", "account"], answerHints) ?? [])]).toEqual([
    ["claude", "most_specific"],
  ]);
});
