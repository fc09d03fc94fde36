import * as fc from "fast-check";
import { expect, test } from "vitest";
import { outcomeOf } from "../../../src/kernel/exchange/outcome.ts";
import { UpstreamAccounts } from "../../../src/kernel/metrics/accounts.ts";
import { SLOT_STARTED, SLOT_WAITING } from "../../../src/kernel/poll/ports.ts";
import { POLL_ENDED_AT_MS, recordPoll, samplePoll } from "../../support/kernel-samples.ts";
import { accountsOf } from "../../support/samples.ts";
import { accountsClose } from "../../support/accounts-close.ts";

test("a slot that waits is not a slot yet; one that got its lease is, and is in flight until its poll ends", () => {
  const accounts = new UpstreamAccounts("email", 0);
  accounts.record(SLOT_WAITING);
  expect(accounts).toMatchObject({ slots: 0, waiting: 1, inFlight: 0 });
  accounts.record(SLOT_STARTED);
  expect(accounts).toMatchObject({ slots: 1, waiting: 0, inFlight: 1, totalPolls: 0 });
  recordPoll(accounts, samplePoll());
  expect(accounts).toMatchObject({ slots: 1, inFlight: 0, totalPolls: 1 });
  expect(accountsClose(accounts)).toBe(true);
});

test("slots that never waited and a slot that gave up waiting are skipped slots", () => {
  const accounts = new UpstreamAccounts("email", 0);
  accounts.record({ kind: "slots_skipped", cause: "missed", count: 40 });
  accounts.record(SLOT_WAITING);
  accounts.record({ kind: "slots_skipped", cause: "budget", count: 1, had: "waited" });
  expect(accounts).toMatchObject({ slots: 41, waiting: 0, skips: { total: 41 } });
  expect(accounts.skips.of("missed")).toBe(40);
  expect(accounts.skips.of("budget")).toBe(1);
  expect(accountsClose(accounts)).toBe(true);
});

test("a poll that nobody started shows as accounts that do not close", () => {
  const accounts = new UpstreamAccounts("email", 0);
  recordPoll(accounts, samplePoll());
  expect(accountsClose(accounts)).toBe(false);
});

test("a slot that starts without having waited shows as accounts that do not close", () => {
  const accounts = new UpstreamAccounts("email", 0);
  accounts.record(SLOT_STARTED);
  expect(accountsClose(accounts)).toBe(false);
});

test("a poll is counted under its own outcome and reason, and no other", () => {
  const accounts = accountsOf(samplePoll({ outcome: { kind: "throttled", reason: "quota" } }));
  expect(accounts.durations.throttled?.count).toBe(1);
  expect(accounts.durations.ok?.count).toBe(0);
  expect(accounts.reasons.of("quota")).toBe(1);
  expect(accounts.reasons.of("rate")).toBe(0);
});

test("a failure keeps its time, and apart from the successes", () => {
  const accounts = accountsOf(
    samplePoll({ outcome: { kind: "failed", reason: "timeout" }, durationMs: 10_000 }),
  );
  expect(accounts.durations.failed).toMatchObject({ count: 1, sum: 10 });
  expect(accounts.durations.ok).toMatchObject({ count: 0, sum: 0 });
});

test("a duration that equals a bucket's bound belongs to that bucket", () => {
  const bounds = new UpstreamAccounts("email", 0).durations.ok?.bounds ?? [];
  expect(bounds).toHaveLength(12);
  for (const [index, bound] of bounds.entries()) {
    const duration = accountsOf(samplePoll({ durationMs: bound * 1000 })).durations.ok;
    expect(duration?.counts[index], `at ${bound}`).toBe(1);
    expect(duration?.counts[index - 1] ?? 0, `under ${bound}`).toBe(0);
  }
});

test("a duration beyond the last bound is counted, in +Inf alone", () => {
  const duration = accountsOf(samplePoll({ durationMs: 61_000 })).durations.ok;
  expect(duration?.counts).toEqual(Array.from({ length: 12 }, () => 0));
  expect(duration?.count).toBe(1);
});

test("a clock that was set back makes no sum shrink and no count lost", () => {
  const accounts = accountsOf(samplePoll({ delayMs: -3_600_000, durationMs: NaN, phasesMs: { dns: -1 } }));
  expect(accounts.delay).toMatchObject({ count: 1, sum: 0 });
  expect(accounts.durations.ok).toMatchObject({ count: 1, sum: 0 });
  expect(accounts.phases.dns).toEqual({ count: 1, sum: 0 });
});

test("a phase that has not happened is not known; one that took no time is", () => {
  const accounts = accountsOf(samplePoll({ phasesMs: { connect: 0, wait: 250 } }));
  expect(accounts.phases.tls).toBeUndefined();
  expect(accounts.phases.connect).toEqual({ count: 1, sum: 0 });
  expect(accounts.phases.wait).toEqual({ count: 1, sum: 0.25 });
});

test("status codes are counted as they are when registered; the wild rest shares one name", () => {
  const accounts = new UpstreamAccounts("email", 0);
  for (const status of [200, 503, 299, 418, 799]) {
    accounts.record(SLOT_WAITING);
    accounts.record(SLOT_STARTED);
    recordPoll(accounts, samplePoll({ head: { status, headers: [] } }));
  }
  expect([
    accounts.responses.of("200"),
    accounts.responses.of("503"),
    accounts.responses.of("other"),
  ]).toEqual([1, 1, 3]);
  expect(accounts.responses.of("299")).toBe(0);
});

test("an answer that broke off after its head still counts as that status code", () => {
  const accounts = accountsOf(samplePoll({ outcome: { kind: "failed", reason: "reset" } }));
  expect(accounts.responses.of("200")).toBe(1);
});

test("only a poll that was ok moves the time of the last success", () => {
  const accounts = accountsOf(samplePoll());
  accounts.record(SLOT_WAITING);
  accounts.record(SLOT_STARTED);
  recordPoll(
    accounts,
    samplePoll({
      outcome: { kind: "failed", reason: "dns" },
      head: undefined,
      endedAtMs: POLL_ENDED_AT_MS + 15_000,
    }),
  );
  expect(accounts.lastSuccessAtMs).toBe(POLL_ENDED_AT_MS);
  expect(accounts.lastPollAtMs).toBe(POLL_ENDED_AT_MS + 15_000);
});

test("a certificate that was seen still stands after a poll that showed none", () => {
  const accounts = accountsOf(samplePoll({ certificateExpiresAtMs: 1 }));
  accounts.record(SLOT_WAITING);
  accounts.record(SLOT_STARTED);
  recordPoll(accounts, samplePoll({ certificateExpiresAtMs: undefined }));
  expect(accounts.certificateExpiresAtMs("https://email.example")).toBe(1);
});

test("the longest delay is of the last minute, or of the last poll where none ended since", () => {
  const accounts = new UpstreamAccounts("email", 0);
  const polled = (endedAtMs: number, delayMs: number): void =>
    recordPoll(accounts, samplePoll({ endedAtMs, delayMs }));
  expect(accounts.longestDelaySeconds(0)).toBeUndefined();
  polled(1_000, 300);
  polled(2_000, 100);
  polled(30_000, 200);
  expect(accounts.longestDelaySeconds(60_999)).toBe(0.3);
  expect(accounts.longestDelaySeconds(61_000)).toBe(0.2);
  expect(accounts.longestDelaySeconds(500_000)).toBe(0.2);
  polled(80_000, 50);
  expect(accounts.longestDelaySeconds(80_000)).toBe(0.2);
  expect(accounts.longestDelaySeconds(90_000)).toBe(0.05);
  // The clock is set back.
  polled(5_000, 10);
  expect(accounts.longestDelaySeconds(5_000)).toBe(0.01);
});

test("whatever delays there are, the longest is the one that a list of all would tell", () => {
  const polls = fc.array(fc.record({ afterMs: fc.nat(40_000), delayMs: fc.integer({ min: 1, max: 9 }) }), {
    minLength: 1,
  });
  fc.assert(
    fc.property(polls, fc.nat(70_000), (steps, laterMs) => {
      const accounts = new UpstreamAccounts("email", 0);
      const all: { endedAtMs: number; delayMs: number }[] = [];
      let nowMs = 0;
      for (const { afterMs, delayMs } of steps) {
        nowMs += afterMs;
        all.push({ endedAtMs: nowMs, delayMs });
        recordPoll(accounts, samplePoll({ endedAtMs: nowMs, delayMs }));
      }
      const askedMs = nowMs + laterMs;
      const recent = all.filter(({ endedAtMs }) => endedAtMs > askedMs - 60_000);
      const wanted = Math.max(
        ...(recent.length === 0 ? all.slice(-1) : recent).map(({ delayMs }) => delayMs),
      );
      expect(accounts.longestDelaySeconds(askedMs)).toBe(wanted / 1000);
    }),
  );
});

test("what appears late began when the poll that made it was sent, and no skip before the last poll ended", () => {
  const accounts = new UpstreamAccounts("email", 5_000);
  accounts.record({ kind: "slots_skipped", cause: "overlap", count: 1 });
  const poll = samplePoll({ sentAtMs: 10_000, endedAtMs: 11_000, outcome: outcomeOf("server_error") });
  recordPoll(accounts, poll);
  recordPoll(accounts, { ...poll, sentAtMs: 20_000, endedAtMs: 21_000 });
  accounts.record({ kind: "slots_skipped", cause: "quota", count: 1 });
  expect(accounts.reasons.counts).toEqual([{ word: "server_error", count: 2, startedAtMs: 10_000 }]);
  expect(accounts.skips.counts.map(({ startedAtMs }) => startedAtMs)).toEqual([5_000, 21_000]);
  expect(accounts.durations.failed?.startedAtMs).toBe(10_000);
  expect(accounts.durations.ok?.startedAtMs).toBe(5_000);
});

test("the newest poll of each outcome is its example, with the provider's request id unless it is too long", () => {
  const exampleOf = (requestId: string | undefined): object | undefined => {
    const headers = [
      { name: "content-type", bytes: 16 },
      ...(requestId === undefined ? [] : [{ name: "x-request-id", bytes: 1, value: requestId }]),
    ];
    const outcome = outcomeOf("server_error");
    return accountsOf(samplePoll({ outcome, head: { status: 500, headers } })).durations.failed?.exemplar;
  };
  const pollId = { poll_id: "poll-1", poll_page: "email#poll-1" };
  expect(exampleOf(undefined)).toMatchObject({ labels: pollId, value: 0.2, atMs: POLL_ENDED_AT_MS });
  expect(exampleOf("req_7f3a")).toMatchObject({ labels: { ...pollId, request_id: "req_7f3a" } });
  const fitting = "r".repeat(128 - "poll_idpoll-1poll_pageemail#poll-1request_id".length);
  expect(exampleOf(fitting)).toHaveProperty("labels", { ...pollId, request_id: fitting });
  expect(exampleOf(`${fitting}r`)).toHaveProperty("labels", pollId);
});
