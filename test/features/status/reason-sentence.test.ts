import { expect, test } from "vitest";
import { usedUpWords } from "../../../src/features/quota/standing.ts";
import { reasonSentence } from "../../../src/features/status/reason-sentence.ts";
import type { UpstreamFacts } from "../../../src/features/status/status.ts";
import { sampleBudgetStatus, samplePollStatus, sampleUpstreamStatus } from "../../support/samples.ts";
import type { PollStatus } from "../../../src/features/history/kept-poll.ts";

const NOW_MS = 100_000;

function said(changes: Partial<UpstreamFacts>, pausedUntilMs = 0): string {
  return reasonSentence(sampleUpstreamStatus(changes), [sampleBudgetStatus({ pausedUntilMs })], NOW_MS);
}

function state(state: UpstreamFacts["health"]["state"]): Pick<UpstreamFacts, "health"> {
  return { health: { state, sinceMs: 0, up: undefined } };
}

const TIMEOUT: Partial<PollStatus> = {
  outcome: "failed",
  reason: "timeout",
  durationMs: 10_000,
  phasesMs: { wait: 9_900 },
};

test("down tells what the polls met", () => {
  const lastPolls = [samplePollStatus(), ...Array.from({ length: 3 }, () => samplePollStatus(TIMEOUT))];
  expect(said({ ...state("down"), lastPolls })).toMatch(/^The last 3 polls timed out after 10 s\b/);
});

test("of an incident with more polls than are kept, it tells their number and since when", () => {
  const lastPolls = Array.from({ length: 60 }, () => samplePollStatus(TIMEOUT));
  const incident = {
    upstream: "email",
    state: "down",
    reason: "timeout",
    startedAtMs: NOW_MS - 40_000,
    endedAtMs: undefined,
    polls: 145,
  } as const;
  const upstream = sampleUpstreamStatus({ ...state("down"), lastPolls });
  expect(reasonSentence(upstream, [], NOW_MS, incident)).toBe(
    "None of 145 polls in 40 s was ok. The last 60 polls timed out after 10 s, waiting for the answer.",
  );
  // The leader before saw the only one.
  const only = sampleUpstreamStatus({ ...state("throttled"), lastPolls: [] });
  expect(reasonSentence(only, [], NOW_MS, { ...incident, state: "throttled", polls: 1 })).toBe(
    "The polls that showed this are no longer kept.",
  );
});

test("of more polls than are kept that were ok, or slow, it tells since when", () => {
  const lastPolls = Array.from({ length: 60 }, () => samplePollStatus());
  const counts = { slots: 14_400, polls: 14_400, inFlight: 0, waiting: 0, skipped: 0 };
  expect(said({ lastPolls, lastFailures: [], counts })).toBe(
    "Each of the 14\u202f400 polls since the start was ok.",
  );
  // Most of them are of an earlier process.
  const restarted = { ...counts, slots: 1, polls: 1 };
  expect(said({ lastPolls, lastFailures: [], counts: restarted })).toBe("The last 60 polls were ok.");
  expect(said({ lastPolls, lastFailures: [samplePollStatus({ ...TIMEOUT, atMs: 40_000 })], counts })).toBe(
    "Every poll of the last 1 min was ok; the one before them timed out after 10 s, waiting for the answer.",
  );
  const slow = lastPolls.map((poll) => ({ ...poll, degraded: true, durationMs: 2_400 }));
  const health = { state: "degraded", sinceMs: NOW_MS - 90_000, up: true } as const;
  expect(said({ health, lastPolls: slow })).toBe(
    "Every poll for 1 min 30 s took longer than 2 s, the last 60 up to 2.4 s.",
  );
});

test("up tells how long nothing has happened, and what happened before", () => {
  const oks = Array.from({ length: 12 }, () => samplePollStatus());
  expect(said({ lastPolls: oks })).toBe("The last 12 polls were ok.");
  expect(said({ lastPolls: [samplePollStatus()] })).toBe("The last poll was ok.");
  expect(
    said({ lastPolls: [samplePollStatus(), samplePollStatus({ ...TIMEOUT, atMs: 40_000 }), ...oks] }),
  ).toMatch(/^The last 12 polls were ok; the one before, 1 min ago, timed out after 10 s\b/);
});

test("a failure that is not confirmed yet is told as such", () => {
  expect(said({ lastPolls: [samplePollStatus(), samplePollStatus(TIMEOUT)] })).toMatch(
    /^The last poll timed out .*\. Not confirmed yet: waiting for another poll\.$/,
  );
});

test("slow tells by how much", () => {
  const slow = (durationMs: number): PollStatus => samplePollStatus({ degraded: true, durationMs });
  expect(
    said({
      ...state("degraded"),
      lastPolls: [samplePollStatus(), slow(3_100), samplePollStatus(), slow(2_400)],
    }),
  ).toBe("2 of the last 3 polls took longer than 2 s, up to 3.1 s.");
  expect(said({ ...state("degraded"), lastPolls: Array.from({ length: 20 }, () => slow(2_400)) })).toBe(
    "The last 20 polls took longer than 2 s, up to 2.4 s.",
  );
  expect(said({ ...state("degraded"), lastPolls: [samplePollStatus(), slow(3_100)] })).toBe(
    "The last poll took 3.1 s, longer than 2 s.",
  );
});

test("a pause of the budget or of the upstream alone is told with its end, the longer one", () => {
  const throttled = {
    ...state("throttled"),
    lastPolls: [samplePollStatus({ outcome: "throttled", reason: "rate", status: 429 })],
  };
  expect(said(throttled, NOW_MS + 18_000)).toBe(
    "The last poll got 429: too many requests. Polls are paused for another 18 s.",
  );
  expect(said({ pausedUntilMs: NOW_MS + 30_000 }, NOW_MS + 18_000)).toContain(
    "We are kept from looking: polls are paused for another 30 s.",
  );
  expect(said({ pausedUntilMs: NOW_MS - 1 })).not.toContain("paused");
});

const NEVER = { slots: 0, polls: 0, inFlight: 0, waiting: 0, skipped: 0 };

test.each([
  ["nothing happened", { counts: NEVER }, "No slot was due since the start."],
  ["the first poll waits", { counts: { ...NEVER, waiting: 1 } }, "The first poll is waiting for its budget."],
  [
    "the first poll runs",
    { counts: { ...NEVER, slots: 1, inFlight: 1 } },
    "The first poll has no outcome yet.",
  ],
  [
    "no lease came",
    { skippedSincePoll: [{ cause: "budget", count: 3 }] },
    "3 slots were skipped since the last poll: our share of the rate limit was used up.",
  ],
  [
    "one of several budgets had no lease",
    {
      skippedSincePoll: [
        { cause: "budget", budget: "account", count: 1 },
        { cause: "budget", budget: "large-models", count: 2 },
      ],
    },
    "3 slots were skipped since the last poll: 2 because our share of the rate limit was used up (budget large-models); 1 because our share of the rate limit was used up (budget account).",
  ],
  [
    "two causes met",
    {
      counts: NEVER,
      skippedSincePoll: [
        { cause: "overlap", count: 1 },
        { cause: "missed", count: 4 },
      ],
    },
    "5 slots were skipped since the start: 4 because Pacewatch was late or suspended; 1 because the previous poll was still running.",
  ],
  [
    "Pacewatch itself is broken",
    { lastPolls: [samplePollStatus({ outcome: "ours", reason: "bug" })] },
    "The last poll failed because of a bug in Pacewatch.",
  ],
] as const)("not known tells why nobody looks: %s", (_, changes, sentence) =>
  expect(said({ ...state("unknown"), ...changes })).toBe(sentence),
);

test("a state whose polls are no longer kept is no reason to make something up", () => {
  expect(said({ ...state("down"), lastPolls: [] })).toBe("The polls that showed this are no longer kept.");
  expect(said({ lastPolls: [] })).toBe("It was up when last polled; those polls are no longer kept.");
});

test("what stops the polls for want of money is told with its amounts, and until when", () => {
  const month = { limit: 5, perMs: 2_592_000_000, unconfirmed: 0, forecast: 6, currency: "EUR" };
  const spend = { ...month, used: 4.999, noRoomUntilMs: NOW_MS + 4_000_000 };
  const saidOf = (upstream: UpstreamFacts, budget: string): string =>
    reasonSentence(upstream, [sampleBudgetStatus({ name: budget })], NOW_MS, undefined, () =>
      usedUpWords(spend, NOW_MS),
    );
  const upstream = sampleUpstreamStatus({
    ...state("unknown"),
    skippedSincePoll: [{ cause: "quota", budget: "api", count: 9 }],
  });
  expect(saidOf(upstream, "api")).toMatch(
    /^9 slots .*: too little .* \(budget api: 5\.00 of 5\.00 EUR .*; there is room again in 1 h 7 min\b.*\)\.$/,
  );
  expect(saidOf(upstream, "other")).toContain("(budget api).");
  // One that draws on a single budget need not name it.
  const single = { ...upstream, skippedSincePoll: [{ cause: "quota", count: 9 } as const] };
  expect(saidOf(single, "api")).toContain("is left for a poll (5.00 of 5.00 EUR used in 30 d;");
});
