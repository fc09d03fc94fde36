import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { systemClock } from "../../src/adapters/clock.ts";
import { LargeAnswers } from "../../src/app/large-answers.ts";
import { MOST_JSON_MARKS } from "../../src/core/exchange/bounds.ts";
import type { Observation } from "../../src/core/exchange/exchange.ts";
import { judge, type PollResult } from "../../src/engine/poll/poll-once.ts";
import { sampleUpstream } from "../support/samples.ts";
import { VirtualClock } from "../support/virtual/clock.ts";

const MAX_BYTES = 8 * 1024 * 1024;
const KEY = "test-key-5f0b2c7e91";
const TIMES = { id: "1", origin: "schedule", sentAtMs: 0, endedAtMs: 0, delayMs: 0 } as const;
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
  const judged = async (text: string): Promise<PollResult> =>
    answers.judge(
      UPSTREAM,
      observationOf(text, () => (released += 1)),
      TIMES,
    );
  const text = JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id })));
  const here = observationOf(text);
  const decoded = { ...here.exchange, body: Buffer.from(text) } as const;
  const all = await Promise.all([judged(text), judged("<h1>no</h1>"), judged(`"${"x".repeat(MAX_BYTES)}"`)]);
  expect(all[0]).toEqual(judge(UPSTREAM, { ...here, exchange: decoded }, TIMES));
  expect(all.map(({ poll }) => poll.outcome.kind)).toEqual(["ok", "failed", "failed"]);
  expect(all[2]?.poll).toMatchObject({ outcome: { reason: "body_too_large" }, head: { status: 200 } });
  expect(JSON.stringify(all)).not.toContain(KEY);
  expect(released).toBe(3);
});

test("JSON of more values than there is memory for is ours to tell, and the next is judged", async () => {
  await using answers = new LargeAnswers(systemClock);
  const judged = async (values: number): Promise<PollResult> =>
    answers.judge(UPSTREAM, observationOf(`[${"0,".repeat(values - 1)}0]`), TIMES);
  const [most, more] = await Promise.all([judged(MOST_JSON_MARKS), judged(MOST_JSON_MARKS + 1)]);
  expect(most?.poll.outcome.kind).toBe("ok");
  expect(more?.poll.outcome).toMatchObject({ kind: "ours", reason: "memory" });
});

test("an answer that comes while its thread is being ended for idleness is judged by the next one", async () => {
  const clock = new VirtualClock();
  await using answers = new LargeAnswers(clock);
  for (let turn = 0; turn < 3; turn += 1) {
    const { poll } = await answers.judge(UPSTREAM, observationOf("[]"), TIMES);
    expect(poll.outcome.kind).toBe("ok");
    await clock.advance(30_000);
  }
});

test("an expression is matched in the thread, and what would take too long there is told as not checked", async () => {
  await using answers = new LargeAnswers(systemClock);
  const judged = (pattern: string, text: string): Promise<PollResult> => {
    const body = [{ path: undefined, matches: pattern }] as const;
    const expected = { status: [200], json: false, maxBodyBytes: MAX_BYTES, body };
    return answers.judge(sampleUpstream({ expect: expected }), observationOf(text), TIMES);
  };
  const hostile = "ab".repeat(500_000);
  const all = await Promise.all([
    judged("^all (?:systems )?operational", "all operational"),
    judged("^all", "outage"),
    judged("(?:.{0,12}a.{0,12}){12}[^ab]", hostile),
  ]);
  expect(all.map(({ poll }) => poll.outcome.kind)).toEqual(["ok", "failed", "failed"]);
  expect(all[2]?.poll.detail).toContain("matching its expression takes too many steps");
});
