import type { Poll } from "../../src/kernel/poll/poll.ts";
import { HINTS } from "../../src/features/hints/fields/answer-hints.ts";
import { judgingOf } from "../../src/app/features/judging.ts";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { LargeAnswers } from "../../src/app/large-answers.ts";
import type { Upstream } from "../../src/kernel/config/config.ts";
import type { BodyAssertion } from "../../src/features/expect/config.ts";
import type { Observation } from "../../src/kernel/exchange/exchange.ts";
import { judge } from "../../src/kernel/polling/poll-once.ts";
import { samplePollTimes, sampleUpstream } from "../support/kernel-samples.ts";
import { VirtualClock } from "../support/virtual/clock.ts";
import { MOST_JSON_MARKS } from "../../src/kernel/exchange/json-body.ts";

const MAX_BYTES = 8 * 1024 * 1024;
const KEY = "test-key-5f0b2c7e91";
const TIMES = samplePollTimes();
const UPSTREAM = sampleUpstream({ expect: { status: [200], json: true, maxBodyBytes: MAX_BYTES } });

function observationOf(text: string, released: () => void = () => {}): Observation {
  const headers = [
    ["content-encoding", "gzip"],
    ["x-ratelimit-limit", "60"],
    ["x-ratelimit-resource", KEY],
  ] as const;
  return {
    exchange: {
      kind: "answered",
      head: { status: 200, reasonPhrase: "", headers },
      body: gzipSync(text),
    },
    durationMs: 1,
    phasesMs: {},
    certificateExpiresAtMs: undefined,
    withoutKeys: (each) => each.replaceAll(KEY, "<secret>"),
    large: { maxBytes: MAX_BYTES, keys: [KEY], release: released },
  };
}

test("what is judged in a thread is judged as here, without keys, and its memory is given back", async () => {
  await using answers = new LargeAnswers(systemClock);
  let released = 0;
  const judged = async (text: string): Promise<Poll> =>
    answers.judge(
      UPSTREAM,
      observationOf(text, () => (released += 1)),
      TIMES,
    );
  const text = JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id })));
  const here = observationOf(text);
  const decoded = { ...here.exchange, body: Buffer.from(text) } as const;
  const all = await Promise.all([judged(text), judged("<h1>no</h1>"), judged(`"${"x".repeat(MAX_BYTES)}"`)]);
  expect(all[0]).toEqual(judge(UPSTREAM, { ...here, exchange: decoded }, TIMES, judgingOf(UPSTREAM)));
  expect(all.map(({ outcome }) => outcome.kind)).toEqual(["ok", "failed", "failed"]);
  expect(all[2]).toMatchObject({ outcome: { reason: "body_too_large" }, head: { status: 200 } });
  expect(JSON.stringify(all)).not.toContain(KEY);
  expect(released).toBe(3);
});

test("JSON of more values than there is memory for is ours to tell, and the next is judged", async () => {
  await using answers = new LargeAnswers(systemClock);
  const judged = async (values: number): Promise<Poll> =>
    answers.judge(UPSTREAM, observationOf(`[${"0,".repeat(values - 1)}0]`), TIMES);
  const [most, more] = await Promise.all([judged(MOST_JSON_MARKS), judged(MOST_JSON_MARKS + 1)]);
  expect(most?.outcome.kind).toBe("ok");
  expect(more?.outcome).toMatchObject({ kind: "ours", reason: "memory" });
});

test("an answer that comes while its thread is being ended for idleness is judged by the next one", async () => {
  const clock = new VirtualClock();
  await using answers = new LargeAnswers(clock);
  for (let turn = 0; turn < 3; turn += 1) {
    const poll = await answers.judge(UPSTREAM, observationOf("[]"), TIMES);
    expect(poll.outcome.kind).toBe("ok");
    await clock.advance(30_000);
  }
});

const SCHEMA = new TextEncoder().encode('{"items":{"pattern":"^(?:a+)+$"}}');
const contract = { text: new Uint8Array(new SharedArrayBuffer(SCHEMA.length)), digest: "any" };
contract.text.set(SCHEMA);

function asserting(assertion: Omit<BodyAssertion, "path">, json: boolean): Upstream {
  const body = [{ path: json ? "" : undefined, ...assertion }];
  return sampleUpstream({ expect: { status: [200], json, maxBodyBytes: MAX_BYTES, body } });
}

const WITH_EXPRESSION = asserting({ matches: "^all (?:systems )?operational" }, false);
const WITH_SCHEMA = asserting({ jsonSchema: "contract.json", contract }, true);
/** Would take longer than the universe is old. */
const ENDLESS = `["${"a".repeat(100)}b"]`;

test("expressions and JSON Schemas are checked in the thread", async () => {
  await using answers = new LargeAnswers(systemClock);
  const all = await Promise.all([
    answers.judge(WITH_EXPRESSION, observationOf("all operational"), TIMES),
    answers.judge(WITH_EXPRESSION, observationOf("outage"), TIMES),
    answers.judge(WITH_SCHEMA, observationOf('["aa"]'), TIMES),
    answers.judge(WITH_SCHEMA, observationOf('["aa","b"]'), TIMES),
  ]);
  expect(all.map(({ outcome }) => outcome.kind)).toEqual(["ok", "failed", "ok", "failed"]);
  expect(all[3]?.detail).toBe('answered 200, but "/1" is "b", expected a text that matches "^(?:a+)+$"');
});

test("an answer that takes too much CPU time fails, what its head says holds, and those behind it are judged", async () => {
  await using answers = new LargeAnswers(systemClock, { cpuMs: 50 });
  let released = 0;
  const judged = (text: string): Promise<Poll> =>
    answers.judge(
      WITH_SCHEMA,
      observationOf(text, () => (released += 1)),
      TIMES,
    );
  const [first, endless, behind] = await Promise.all([judged('["a"]'), judged(ENDLESS), judged('["a"]')]);
  expect([first.outcome.kind, behind.outcome.kind]).toEqual(["ok", "ok"]);
  expect(endless).toMatchObject({
    outcome: { kind: "failed", reason: "assertion" },
    detail: "its answer could not be checked in time, after it had answered 200",
    head: { status: 200 },
  });
  expect(HINTS.of(endless.said)).toEqual(HINTS.of(first.said));
  expect(JSON.stringify(endless)).not.toContain(KEY);
  expect(released).toBe(3);
});

test("that a thread gets no CPU is ours to tell, however long it takes, and another one judges what comes next", async () => {
  const clock = new VirtualClock();
  await using answers = new LargeAnswers(clock, { cpuMs: Infinity });
  const judging = answers.judge(WITH_SCHEMA, observationOf(ENDLESS), TIMES);
  await clock.advance(120_000);
  expect(await judging).toMatchObject({
    outcome: { kind: "ours", reason: "suspended" },
    detail: "the thread that judges answers stood still, after it had answered 200",
  });
  const poll = await answers.judge(WITH_SCHEMA, observationOf('["a"]'), TIMES);
  expect(poll.outcome.kind).toBe("ok");
});

test("what needs more memory than the thread may take is ours to tell, and those behind it are judged", async () => {
  await using answers = new LargeAnswers(systemClock, { heapMib: 24 });
  const [large, behind] = await Promise.all([
    answers.judge(UPSTREAM, observationOf(`[${"{},".repeat(MOST_JSON_MARKS / 2 - 1)}{}]`), TIMES),
    answers.judge(UPSTREAM, observationOf("[]"), TIMES),
  ]);
  expect(large).toMatchObject({
    outcome: { kind: "ours", reason: "memory" },
    detail: "judging its answer takes more memory than there is for it, after it had answered 200",
  });
  expect(behind.outcome.kind).toBe("ok");
});

test("so many may wait: a further answer is not kept", async () => {
  await using answers = new LargeAnswers(systemClock, { waiting: 2 });
  let released = 0;
  const all = await Promise.all(
    [1, 2, 3].map(() =>
      answers.judge(
        UPSTREAM,
        observationOf("[]", () => (released += 1)),
        TIMES,
      ),
    ),
  );
  expect(all.map(({ outcome }) => outcome.reason)).toEqual(["", "", "memory"]);
  expect(all[2]?.detail).toBe("too many answers were waiting to be judged, after it had answered 200");
  expect(released).toBe(3);
  expect((await answers.judge(UPSTREAM, observationOf("[]"), TIMES)).outcome.kind).toBe("ok");
});
