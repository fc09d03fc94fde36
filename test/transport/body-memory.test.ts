import { setImmediate as nextTurn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { Dispatcher } from "undici";
import { expect, test } from "vitest";
import { BodyMemory } from "../../src/transport/body-memory.ts";
import { RequestInFlight } from "../../src/transport/request-in-flight.ts";
import type { Clock } from "../../src/kernel/time/clock.ts";
import { HOUR_MS } from "../../src/kernel/time/duration.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { sampleUpstream } from "../support/kernel-samples.ts";
import { answer, type Script } from "../support/raw-upstream.ts";
import { answeredOf, bodyText, brokenOf, pollOnce, SHORT_MS, startUpstream } from "./polling.ts";
import { SMALL_BODY_BYTES } from "../../src/kernel/exchange/exchange.ts";

const LARGE = JSON.stringify("x".repeat(2 * SMALL_BODY_BYTES));
const MAX_BYTES = 4 * SMALL_BODY_BYTES;
const sends =
  (text: string): Script =>
  async (connection) => {
    await connection.request();
    connection.write(text);
  };
const expectation = { status: [200], json: true, maxBodyBytes: MAX_BYTES };

test("who finds too little memory waits its turn, and a body alone always fits", async () => {
  const memory = new BodyMemory(100, 1_000);
  const granted: string[] = [];
  const take = (name: string, bytes: number): (() => void) => {
    const giveBack = memory.take(bytes, 1, () => granted.push(name));
    if (giveBack === undefined) throw new Error("it may not wait");
    return giveBack;
  };
  const giveBack = { one: take("one", 60), two: take("two", 60), three: take("three", 40) };
  const large = take("larger than all", 500);
  expect(granted).toEqual(["one"]);
  giveBack.one();
  giveBack.one();
  await nextTurn();
  expect(granted).toEqual(["one", "two", "three"]);
  giveBack.two();
  giveBack.three();
  await nextTurn();
  expect(granted.at(-1)).toBe("larger than all");
  const last = take("last", 1);
  // Left before its turn.
  last();
  large();
  await nextTurn();
  take("next", 100);
  expect(granted.slice(3)).toEqual(["larger than all", "next"]);
});

test("those that wait hold no more than their part: one too many is refused, until another has left or was granted", async () => {
  const memory = new BodyMemory(100, 30);
  const giveBack = memory.take(100, 1_000, () => {});
  const wait = (heldBytes: number): (() => void) | undefined => memory.take(100, heldBytes, () => {});
  const first = wait(20);
  expect(wait(11)).toBeUndefined();
  expect(wait(10)).toBeDefined();
  expect(wait(1)).toBeUndefined();
  first?.();
  expect(wait(20)).toBeDefined();
  expect(wait(1)).toBeUndefined();
  giveBack?.();
  await nextTurn();
  // The one that held 10 was granted its turn.
  expect(wait(10)).toBeDefined();
  expect(wait(1)).toBeUndefined();
});

/** Tells when it is asked. */
class ToldMemory extends BodyMemory {
  readonly asked: PromiseWithResolvers<number> = Promise.withResolvers<number>();

  override take(bytes: number, heldBytes: number, granted: () => void): (() => void) | undefined {
    this.asked.resolve(bytes);
    return super.take(bytes, heldBytes, granted);
  }
}

test("a large body waits for memory, and that time is none of the upstream's", async () => {
  const memory = new ToldMemory(MAX_BYTES, MAX_BYTES);
  const giveBack = BodyMemory.prototype.take.call(memory, MAX_BYTES, 0, () => {});
  let laterMs = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + laterMs };
  const upstream = await startUpstream(sends(answer(LARGE)));
  const polled = pollOnce(upstream, { expect: expectation }, { memory, clock });
  expect(await memory.asked.promise).toBe(LARGE.length);
  laterMs = HOUR_MS / 2;
  giveBack?.();
  const { exchange, large, durationMs, phasesMs } = await polled;
  expect(exchange.kind).toBe("answered");
  expect(durationMs).toBeLessThan(HOUR_MS / 2);
  expect(phasesMs.transfer).toBeLessThan(HOUR_MS / 2);
  expect(large).toMatchObject({ maxBytes: MAX_BYTES, keys: [] });
});

test("where there is no memory until the deadline, that is told as ours; a small body needs none", async () => {
  const memory = new BodyMemory(1, MAX_BYTES);
  memory.take(1, 0, () => {});
  const small = await startUpstream(sends(answer("[1]")));
  expect(bodyText(await pollOnce(small, { expect: expectation }, { memory }))).toBe("[1]");
  const large = await startUpstream(sends(answer(LARGE)));
  const polled = await pollOnce(large, { expect: expectation, timeoutMs: SHORT_MS }, { memory });
  expect(brokenOf(polled)).toMatchObject({ fault: "memory", sent: true, head: { status: 200 } });
});

const CHUNKED = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${LARGE.length.toString(16)}\r\n${LARGE}\r\n0\r\n\r\n`;

test.each([
  ["tells its length", answer(LARGE)],
  ["does not", CHUNKED],
])("where too many wait already, a large body is not waited for, if it %s", async (_, text) => {
  const memory = new BodyMemory(1, 0);
  const giveBack = memory.take(1, 0, () => {});
  const [now, later] = [await startUpstream(sends(text)), await startUpstream(sends(text))];
  expect(brokenOf(await pollOnce(now, { expect: expectation }, { memory }))).toMatchObject({
    fault: "memory",
    detail: "too many others wait for memory already",
  });
  giveBack?.();
  await nextTurn();
  const read = answeredOf(await pollOnce(later, { expect: expectation }, { memory }));
  expect(read.body.byteLength).toBe(LARGE.length);
});

test("an answer to HEAD has no body, whatever length it tells, and needs no memory", async () => {
  const upstream = await startUpstream(sends(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE.length}\r\n\r\n`));
  const memory = new BodyMemory(1, 0);
  memory.take(1, 0, () => {});
  const head = await pollOnce(
    upstream,
    { method: "HEAD", expect: { ...expectation, json: false } },
    { memory },
  );
  expect(answeredOf(head).body.byteLength).toBe(0);
});

test("a body that tells its length asks before any of it is read", async () => {
  const memory = new ToldMemory(MAX_BYTES, MAX_BYTES);
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE.length}\r\n\r\n`);
    expect(await memory.asked.promise).toBe(LARGE.length);
    connection.write(LARGE);
  });
  expect(bodyText(await pollOnce(upstream, { expect: expectation }, { memory }))).toBe(LARGE);
});

test("what is small on the wire and large when decoded is handed over too", async () => {
  const memory = new BodyMemory(MAX_BYTES, MAX_BYTES);
  const zeros = gzipSync(JSON.stringify("0".repeat(2 * MAX_BYTES)));
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${zeros.length}\r\n\r\n`);
    connection.write(zeros);
  });
  const observation = await pollOnce(upstream, { expect: expectation }, { memory });
  expect(answeredOf(observation).body.byteLength).toBe(zeros.length);
  expect(observation.large?.maxBytes).toBe(MAX_BYTES);
});

test("a body that is larger than is allowed, small or not, is theirs", async () => {
  const memory = new BodyMemory(MAX_BYTES, MAX_BYTES);
  const most = { ...expectation, maxBodyBytes: SMALL_BODY_BYTES };
  const upstream = await startUpstream(sends(answer(LARGE)));
  expect(brokenOf(await pollOnce(upstream, { expect: most }, { memory })).fault).toBe("body_too_large");
});

test("the headers of a body that comes in many pieces are not looked through with each of them", () => {
  const upstream = sampleUpstream({ expect: expectation });
  const route = { upstream: "api:443", peer: "api:443", tls: undefined };
  const memory = new BodyMemory(MAX_BYTES, MAX_BYTES);
  const request = new RequestInFlight({ clock: systemClock, upstream, memory }, route, () => true);
  const rawHeaders = ["X-First", "1", "X-Second", "2"];
  const nothing = (): void => {};
  const controller: Dispatcher.DispatchController = {
    rawHeaders,
    rawTrailers: [],
    aborted: false,
    paused: false,
    reason: null,
    abort: nothing,
    pause: nothing,
    resume: nothing,
  };
  request.onResponseStart(controller, 200, {});
  const { headers = [] } = request.broken("bug", "").head ?? {};
  expect(headers).toHaveLength(2);
  let looks = 0;
  Object.defineProperty(headers, Symbol.iterator, {
    value: () => {
      looks += 1;
      return [].values();
    },
  });
  for (let piece = 0; piece < 100; piece += 1) request.onResponseData(controller, Buffer.of(32));
  expect(looks).toBe(0);
  request.fail("bug", "the test is over");
});
