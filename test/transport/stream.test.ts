import { VALUES } from "../../src/features/values/values.ts";
import { STREAM } from "../../src/kernel/poll/reader.ts";
import { COST } from "../../src/features/quota/cost.ts";
import { judgingOf } from "../../src/app/features/judging.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Socket } from "node:net";
import { expect, test, vi } from "vitest";
import { BodyMemory } from "../../src/transport/body-memory.ts";
import type { Upstream } from "../../src/kernel/config/config.ts";
import type { Price } from "../../src/features/quota/price.ts";
import type { Observation } from "../../src/kernel/exchange/exchange.ts";
import type { Stream } from "../../src/features/streams/stream.ts";
import type { Poll } from "../../src/kernel/poll/poll.ts";
import { judge } from "../../src/kernel/polling/poll-once.ts";
import { eachTurnDuring } from "../support/each-turn.ts";
import { samplePollTimes, sampleUpstream } from "../support/kernel-samples.ts";
import { answer, type RawConnection, type RawUpstream } from "../support/raw-upstream.ts";
import { pollOnce, startProbe, startUpstream } from "./polling.ts";

/** What one takes while it keeps little. */
const FOR_ONE_STREAM = 200_000;
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const LAST_CHUNK = "0\r\n\r\n";
const DONE = "data: [DONE]\n\n";

const TOKENS: Stream = {
  format: "sse",
  ends: { data: "[DONE]" },
  atMost: 64,
  gapTimeoutMs: undefined,
  counts: { path: "/delta" },
};

function chunk(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
}

const token = (text: string): string => `data: ${JSON.stringify({ delta: text })}\n\n`;
const ROLE = 'data: {"role":"assistant","delta":""}\n\n';

/** Answers with these pieces, each a chunk, and ends as `end` does. */
function streaming(
  pieces: readonly string[],
  end: (connection: RawConnection) => void = (connection) => connection.write(LAST_CHUNK),
): Promise<RawUpstream> {
  return startUpstream(async (connection) => {
    while ((await connection.request()) !== undefined) {
      connection.write(HEAD);
      for (const piece of pieces) connection.write(chunk(piece));
      end(connection);
    }
  });
}

function judged(observation: Observation, changes: Partial<Upstream>): Poll {
  const upstream = sampleUpstream(changes);
  return judge(upstream, observation, samplePollTimes(), judgingOf(upstream));
}

async function poll(
  upstream: RawUpstream,
  stream: Partial<Stream> = {},
  changes: Partial<Upstream> = {},
): Promise<Poll> {
  const all = { ...changes, stream: { ...TOKENS, ...stream } };
  return judged(await pollOnce(upstream, all), all);
}

/** What a test says of a poll: `failed: stream`, and the detail. */
function told({ outcome, detail }: Poll): readonly string[] {
  return [outcome.kind === "ok" ? "ok" : `${outcome.kind}: ${outcome.reason}`, detail];
}

test("a stream is read to its end, and the first event is the first that counts", async () => {
  const upstream = await streaming([ROLE, token("a"), token("b"), 'data: {"usage":3}\n\n', DONE]);
  const polled = await poll(upstream);
  expect(told(polled)).toEqual(["ok", "answered 200 with 4 events in 114 B"]);
  expect(Object.keys(polled.phasesMs)).toEqual(["connect", "wait", "first_event", "stream"]);
  const { firstEventMs = 0, longestGapMs = -1, events } = STREAM.of(polled.said) ?? {};
  expect(events).toBe(4);
  expect(firstEventMs).toBeGreaterThan(0);
  expect(firstEventMs).toBeLessThanOrEqual(polled.durationMs);
  expect(longestGapMs).toBeGreaterThanOrEqual(0);
  expect(longestGapMs).toBeLessThanOrEqual(polled.durationMs - firstEventMs);
  expect(upstream.requests[0]).toMatch(/^accept: text\/event-stream, application\/json$/im);
  expect(upstream.requests[0]).toMatch(/^accept-encoding: identity$/im);
});

test("a stream that comes byte by byte, with CRLF, a byte order mark, comments and retries, says the same", async () => {
  const text = `\uFEFF: hello\r\nretry: 100\r\nid: 1\r\n\r\n${ROLE}${token("é😀")}: ping\r\n\r\n${DONE}`;
  const bytes = [...Buffer.from(text.replaceAll(/(?<!\r)\n/g, "\r\n"))];
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(HEAD);
    for (const byte of bytes) {
      connection.write(Buffer.concat([Buffer.from("1\r\n"), Buffer.of(byte), Buffer.from("\r\n")]));
      await nextTurn();
    }
    connection.write(LAST_CHUNK);
  });
  const expect200 = {
    status: [200],
    json: true,
    maxBodyBytes: 1_048_576,
    body: [{ path: undefined, of: "joined", contains: "é😀" }],
  } as const;
  const polled = await poll(upstream, {}, { expect: expect200 });
  expect(told(polled)).toEqual(["ok", `answered 200 with 2 events in ${bytes.length - 1} B`]);
});

test("JSON by lines is a stream too, and its end can be a value", async () => {
  const lines = ['{"delta":"a","done":false}\n', '{"del', 'ta":"b","done":true}\n'];
  const ends = { path: "/done", equals: true } as const;
  const upstream = await streaming(lines);
  expect(told(await poll(upstream, { format: "ndjson", ends }))[0]).toBe("ok");
  expect(upstream.requests[0]).toMatch(/^accept: application\/x-ndjson, application\/json$/im);
});

test("after at_most events the connection is closed at once, however long the stream would go on", async () => {
  let hasClosed = false;
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(HEAD);
    for (let events = 0; events < 5; events += 1) connection.write(chunk(token("x")));
    await connection.closed;
    hasClosed = true;
  });
  const polled = await poll(upstream, { atMost: 5 });
  expect(told(polled)[0]).toBe("ok");
  expect(STREAM.of(polled.said)?.events).toBe(5);
  expect(hasClosed).toBe(true);
});

test("the end event ends a stream whose answer does not end", async () => {
  const upstream = await streaming([token("a"), DONE], () => {});
  expect(told(await poll(upstream))[0]).toBe("ok");
});

test("a poll ends when its socket is really closed, so its lease is held until then", async () => {
  const upstream = await streaming([token("a")], () => {});
  const stream = { ...TOKENS, atMost: 1 };
  const probe = await startProbe({ url: upstream.url, stream });
  await probe.poll(new AbortController().signal);
  await upstream.idle();
  expect(upstream.open).toBe(0);
});

test("a kept connection is used again after a stream that was read to its end, and not after one that was left", async () => {
  for (const [atMost, connections] of [
    [64, 1],
    [1, 2],
  ] as const) {
    const upstream = await streaming([token("a"), DONE + token("late")]);
    const stream = { ...TOKENS, atMost };
    const probe = await startProbe({ url: upstream.url, stream, connection: "reuse" });
    for (let polls = 0; polls < 2; polls += 1) {
      const { exchange } = await probe.poll(new AbortController().signal);
      expect(exchange.kind).toBe("answered");
    }
    expect(upstream.connections).toBe(connections);
    await probe.close();
  }
});

test("a stream that ends without its end, or is cut off, has failed", async () => {
  const pieces = [ROLE, token("a")];
  expect(told(await poll(await streaming(pieces)))).toEqual([
    "failed: stream",
    "answered 200, but its stream ended after 2 events, without the one that ends it",
  ]);
  for (const cut of ["end", "reset"] as const) {
    const upstream = await startUpstream(async (connection) => {
      await connection.request();
      connection.write(HEAD);
      connection.write(chunk(pieces.join("")));
      await nextTurn();
      if (cut === "end") connection.end();
      else setTimeout(() => connection.reset(), 50);
    });
    const [kind, detail] = told(await poll(upstream));
    expect(kind).toBe("failed: reset");
    expect(detail).toMatch(
      /^the connection was closed before the answer was complete.* \(2 events had come\)/,
    );
  }
});

test("without an end of its own, a stream ends with the answer", async () => {
  const upstream = await streaming([token("a")]);
  expect(told(await poll(upstream, { ends: "end" }))[0]).toBe("ok");
});

test("a stream in which nothing counts has failed, and has no first event", async () => {
  const polled = await poll(await streaming([ROLE, DONE]));
  expect(told(polled)).toEqual([
    "failed: stream",
    "answered 200, but its stream had 1 event, none of which counts",
  ]);
  expect(STREAM.of(polled.said)?.firstEventMs).toBeUndefined();
  expect(Object.keys(polled.phasesMs)).toEqual(["connect", "wait", "first_event"]);
});

test.each([
  [
    'data: {"error":{"message":"Provider returned error","code":502},"choices":[]}\n\n',
    "failed: server_error",
  ],
  [
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    "failed: server_error",
  ],
  ['data: {"error":{"message":"Rate limit reached","type":"rate_limit_exceeded"}}\n\n', "throttled: rate"],
  ["event: error\ndata: something broke\n\n", "failed: stream"],
])("an error event in the middle of a 200 ends the poll: %s", async (event, outcome) => {
  const upstream = await streaming([token("a"), event, token("b")], () => {});
  const polled = await poll(upstream);
  expect(told(polled)[0]).toBe(outcome);
  expect(polled.detail).toContain("an error came after 1 event of its stream");
  expect(polled.excerpt).toBeDefined();
  expect(STREAM.of(polled.said)?.events).toBe(2);
});

test("no event for gap_timeout is a timeout, and its silence is a gap; comments are no events", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(HEAD + chunk(token("a")).toString());
    const alive = setInterval(() => connection.write(chunk(": ping\n\n")), 20);
    await connection.closed;
    clearInterval(alive);
  });
  const polled = await poll(upstream, { gapTimeoutMs: 150 });
  expect(told(polled)).toEqual([
    "failed: timeout",
    "no event came for 150 ms (1 event had come), after it had answered 200",
  ]);
  expect(STREAM.of(polled.said)?.longestGapMs).toBeGreaterThanOrEqual(149);
});

test("the timeout of the poll holds for a stream that never falls silent", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(HEAD);
    const alive = setInterval(() => connection.write(chunk(ROLE)), 10);
    await connection.closed;
    clearInterval(alive);
  });
  const [kind, detail] = told(await poll(upstream, { gapTimeoutMs: 100, atMost: 1_000 }, { timeoutMs: 300 }));
  expect(kind).toBe("failed: timeout");
  expect(detail).toMatch(/^timed out after 300 ms while waiting for the first event/);
});

test("a comment of a megabyte is passed over; an event of a megabyte, and a stream beyond max_body, are too large", async () => {
  const megabyte = "x".repeat(1024 * 1024);
  const expectation = { status: [200], json: true, maxBodyBytes: 2 * 1024 * 1024 } as const;
  const comment = await streaming([`: ${megabyte}\n\n`, token("a"), DONE]);
  expect(told(await poll(comment, {}, { expect: expectation }))[0]).toBe("ok");
  for (const [piece, expected] of [
    [`data: ${megabyte}\n\n`, /^an event, or all that events say, exceeds 65536 characters/],
    [`: ${megabyte}${megabyte}\n\n`, /^the stream exceeds 2097152 bytes/],
  ] as const) {
    const [kind, detail] = told(await poll(await streaming([piece, DONE]), {}, { expect: expectation }));
    expect(kind).toBe("failed: body_too_large");
    expect(detail).toMatch(expected);
  }
});

test("a megabyte of stream is read in turns: other work runs meanwhile", async () => {
  const upstream = await streaming(["\n".repeat(1024 * 1024 - 100), token("a"), DONE]);
  let turns = 0;
  const polled = await eachTurnDuring(
    () => poll(upstream),
    () => (turns += 1),
  );
  expect(told(polled)[0]).toBe("ok");
  expect(turns).toBeGreaterThan(8);
});

test("a stream that is sent faster than it is read waits at its upstream: little of it is taken in", async () => {
  const upstream = await streaming([...Array.from({ length: 60_000 }, () => "\n"), token("a"), DONE]);
  const putBack = vi.spyOn(Socket.prototype, "unshift");
  const polled = await poll(upstream);
  const bytes = putBack.mock.calls.map(([part]) => Buffer.from(part).length);
  putBack.mockRestore();
  expect(told(polled)[0]).toBe("ok");
  expect(bytes.length).toBeGreaterThan(0);
  // The system hands over 64 KiB at once.
  expect(Math.max(...bytes)).toBeLessThan(150_000);
});

test("what is no stream is told as what it is", async () => {
  const respond = (body: string, status?: string): Promise<RawUpstream> =>
    startUpstream(async (connection) => {
      await connection.request();
      connection.write(answer(body, ["Content-Type: application/json"], status));
    });
  const refusal = '{"error":{"message":"Rate limit reached","type":"rate_limit_exceeded"}}';
  expect(told(await poll(await respond(refusal, "429 Too Many Requests")))[0]).toBe("throttled: rate");
  expect(told(await poll(await respond(refusal)))[0]).toBe("throttled: rate");
  expect(told(await poll(await respond("", "503 Service Unavailable")))[0]).toBe("failed: server_error");
  const whole = await poll(await respond('{"choices":[{"message":{"content":"data: a"}}]}'));
  expect(told(whole)).toEqual(["failed: stream", "answered 200, but no event came in its 47 B"]);
  expect(whole.excerpt).toContain("choices");
});

test("an answer with another status than is expected is no stream", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}");
  });
  const { stream, phasesMs } = await pollOnce(upstream, { stream: TOKENS });
  expect(stream).toBeUndefined();
  expect(Object.keys(phasesMs)).toEqual(["connect", "wait", "transfer"]);
});

test("a stream must not be encoded: the times of its events would be lost", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(HEAD.replace("\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n"));
  });
  expect(told(await poll(upstream))[0]).toBe("failed: protocol");
});

test("assertions and values look at the last event, the first that counts, or the joined text", async () => {
  const usage = 'data: {"usage":{"total_tokens":7}}\n\n';
  const upstream = await streaming([ROLE, token('{"ok":'), token("true}"), usage, DONE]);
  const changes: Partial<Upstream> = {
    stream: TOKENS,
    expect: {
      status: [200],
      json: true,
      maxBodyBytes: 10_000,
      body: [
        { path: "/usage/total_tokens", min: 7, max: 7 },
        { path: "/delta", of: "first", oneOf: ['{"ok":'] },
        { path: "/ok", of: "joined", oneOf: [true] },
        { path: undefined, of: "joined", contains: "{" },
        { path: "/delta", of: "first", exists: false },
      ],
    },
    values: [{ name: "tokens", path: "/usage/total_tokens", unit: undefined, credit: false }],
  };
  const polled = judged(await pollOnce(upstream, changes), changes);
  expect(told(polled)).toEqual([
    "failed: assertion",
    'answered 200, but "/delta" of the first event is "{"ok":", expected nothing',
  ]);
  expect(VALUES.of(polled.said)?.values).toEqual([{ name: "tokens", value: 7, isCredit: false }]);
});

const LONG = "x".repeat(20_000);

test.each([
  [
    "its first event and its last",
    [`data: {"delta":"a","pad":"${LONG}"}\n\n`, `data: {"pad":"${LONG}"}\n\n`],
  ],
  ["all that its events say", [token(LONG), token(LONG), token("end")]],
  ["an event that is not complete", [token("a"), `data: ${LONG}`, LONG]],
])("what is kept of a long stream needs memory, or is told as ours: %s", async (_, pieces) => {
  const full = new BodyMemory(1, 1_000_000);
  full.take(1, 0, () => {});
  const upstream = { stream: { ...TOKENS, ends: "end" as const } };
  const refused = await pollOnce(await streaming(pieces), upstream, { memory: full });
  expect(refused.exchange).toMatchObject({ kind: "broken", fault: "memory" });
  const memory = new BodyMemory(1, FOR_ONE_STREAM);
  expect((await pollOnce(await streaming(pieces), upstream, { memory })).exchange.kind).toBe("answered");
  await nextTurn();
  // It was given back.
  expect(memory.take(1, 1, () => {})).toBeDefined();
});

test.each([
  ["is read to its end", {}, DONE, 2],
  ["is left", { atMost: 2 }, DONE, 100],
  ["breaks off", {}, "", 100],
  ["ends with an error", {}, 'data: {"error":"overloaded","usage":2}\n\n', 100],
] as const)(
  "a stream tells by its last event what it costs if it is read to its end: one that %s",
  async (_, stream, end, units) => {
    const upstream = await streaming([
      'data: {"delta":"a","usage":1}\n\n',
      'data: {"delta":"b","usage":2}\n\n',
      end,
    ]);
    const price: Price = {
      currency: "EUR",
      parts: [{ kind: "answer", of: "/usage", per: 1, units: 1, mostUnits: 100 }],
    };
    expect(COST.of((await poll(upstream, stream, { price })).said)?.units).toBe(units);
  },
);

test("a stream of a thousand short events keeps little, and needs no memory for bodies", async () => {
  const memory = new BodyMemory(1, FOR_ONE_STREAM);
  memory.take(1, 0, () => {});
  const pieces = [...Array.from({ length: 1_000 }, () => token("word ")), DONE];
  const read = await pollOnce(await streaming(pieces), { stream: { ...TOKENS, atMost: 10_000 } }, { memory });
  expect(read.exchange).toMatchObject({ kind: "answered", stream: { end: "complete", events: 1_000 } });
});

test("where other streams hold what there is for them, no further one begins", async () => {
  const memory = new BodyMemory(1, FOR_ONE_STREAM);
  const ended = memory.beginStream(FOR_ONE_STREAM / 2);
  const read = async () =>
    (await pollOnce(await streaming([token("word"), DONE]), { stream: TOKENS }, { memory })).exchange;
  expect(await read()).toMatchObject({
    kind: "broken",
    fault: "memory",
    detail: "too many other streams are read already",
  });
  ended?.();
  // Each gives back what it took, also one that fails.
  for (const _ of [1, 2, 3]) expect(await read()).toMatchObject({ kind: "answered" });
});
