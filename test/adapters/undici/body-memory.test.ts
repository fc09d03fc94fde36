import { setImmediate as nextTurn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { BodyMemory } from "../../../src/adapters/undici/body-memory.ts";
import { SMALL_BODY_BYTES } from "../../../src/core/exchange/bounds.ts";
import type { Clock } from "../../../src/core/time/clock.ts";
import { HOUR_MS } from "../../../src/core/time/duration.ts";
import { systemClock } from "../../../src/adapters/clock.ts";
import { answer, type Script } from "../../support/raw-upstream.ts";
import { answeredOf, bodyText, brokenOf, pollOnce, SHORT_MS, startUpstream } from "./polling.ts";

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
  const memory = new BodyMemory(100);
  const granted: string[] = [];
  const take = (name: string, bytes: number): (() => void) => memory.take(bytes, () => granted.push(name));
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

/** Tells when it is asked. */
class ToldMemory extends BodyMemory {
  readonly asked: PromiseWithResolvers<number> = Promise.withResolvers<number>();

  override take(bytes: number, granted: () => void): () => void {
    this.asked.resolve(bytes);
    return super.take(bytes, granted);
  }
}

test("a large body waits for memory, and that time is none of the upstream's", async () => {
  const memory = new ToldMemory(MAX_BYTES);
  const giveBack = BodyMemory.prototype.take.call(memory, MAX_BYTES, () => {});
  let laterMs = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + laterMs };
  const upstream = await startUpstream(sends(answer(LARGE)));
  const polled = pollOnce(upstream, { expect: expectation }, { memory, clock });
  expect(await memory.asked.promise).toBe(LARGE.length);
  laterMs = HOUR_MS / 2;
  giveBack();
  const { exchange, large, durationMs, phasesMs } = await polled;
  expect(exchange.kind).toBe("answered");
  expect(durationMs).toBeLessThan(HOUR_MS / 2);
  expect(phasesMs.transfer).toBeLessThan(HOUR_MS / 2);
  expect(large).toMatchObject({ maxBytes: MAX_BYTES, keys: [] });
});

test("where there is no memory until the deadline, that is told as ours; a small body needs none", async () => {
  const memory = new BodyMemory(1);
  memory.take(1, () => {});
  const small = await startUpstream(sends(answer("[1]")));
  expect(bodyText(await pollOnce(small, { expect: expectation }, { memory }))).toBe("[1]");
  const large = await startUpstream(sends(answer(LARGE)));
  const polled = await pollOnce(large, { expect: expectation, timeoutMs: SHORT_MS }, { memory });
  expect(brokenOf(polled)).toMatchObject({ fault: "memory", sent: true, head: { status: 200 } });
});

test("what is small on the wire and large when decoded is handed over too", async () => {
  const memory = new BodyMemory(MAX_BYTES);
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
  const memory = new BodyMemory(MAX_BYTES);
  const most = { ...expectation, maxBodyBytes: SMALL_BODY_BYTES };
  const upstream = await startUpstream(sends(answer(LARGE)));
  expect(brokenOf(await pollOnce(upstream, { expect: most }, { memory })).fault).toBe("body_too_large");
});
