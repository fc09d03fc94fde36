import { describe, expect, it } from "vitest";
import type { Fault } from "../../src/simulator/faults.ts";
import { EMAIL_RESOURCES } from "../../src/simulator/resources.ts";
import { startSimulatedUpstream } from "../../src/simulator/upstream.ts";
import { eventually } from "../support/eventually.ts";
import { call, type Reply } from "./caller.ts";

const PATH = "/v1/resources";

async function replyUnder(fault: Fault): Promise<Reply> {
  await using upstream = await startSimulatedUpstream({
    name: "email",
    limits: [{ requests: 10, perMs: 60_000 }],
    resources: EMAIL_RESOURCES,
  });
  upstream.setFault(fault);
  return await call(upstream.url + PATH);
}

describe("a fault of the answer", () => {
  it("is a status with a problem, or with the body and headers of one's choice", async () => {
    const plain = await replyUnder({ kind: "status", code: 503 });
    expect([plain.status, plain.headers["content-type"]]).toEqual([503, "application/problem+json"]);
    const chosen = await replyUnder({
      kind: "status",
      code: 402,
      body: "pay",
      headers: { "content-type": "text/plain", "Retry-After": "7" },
    });
    expect([chosen.status, chosen.body.toString()]).toEqual([402, "pay"]);
    expect([chosen.headers["content-type"], chosen.headers["retry-after"]]).toEqual(["text/plain", "7"]);
    const none = await replyUnder({ kind: "status", code: 204 });
    expect([none.status, none.body.byteLength, none.headers["content-length"]]).toEqual([204, 0, undefined]);
    expect((await replyUnder({ kind: "status", code: 203 })).body.toString()).toContain("mail.example.com");
  });

  it("is a 429 with any hint or none, from a gate that knows no limits", async () => {
    const hinted = await replyUnder({ kind: "throttle", retryAfter: "20" });
    expect([hinted.status, hinted.headers["retry-after"]]).toEqual([429, "20"]);
    const mute = await replyUnder({ kind: "throttle" });
    expect(mute.status).toBe(429);
    expect(Object.keys(mute.headers).filter((name) => /retry|ratelimit/.test(name))).toEqual([]);
  });

  it("is a 401 for a good key", async () => {
    expect((await replyUnder({ kind: "unauthorized" })).status).toBe(401);
  });
});

describe("a fault of the wire", () => {
  it("resets the connection before the answer or amid it", async () => {
    await expect(replyUnder({ kind: "reset", at: "before_head" })).rejects.toThrow("ECONNRESET");
    const half = await replyUnder({ kind: "reset", at: "mid_body" });
    expect([half.status, half.complete]).toEqual([200, false]);
    expect(half.body.byteLength).toBeGreaterThan(0);
  });

  it("ends the connection in good order, with half of the promised body", async () => {
    const half = await replyUnder({ kind: "close", at: "mid_body" });
    expect([half.status, half.complete]).toEqual([200, false]);
    expect(half.body.byteLength).toBe(Math.floor(Number(half.headers["content-length"]) / 2));
  });

  it("says what is not HTTP", async () => {
    await expect(replyUnder({ kind: "garbage", text: "220 ready\r\n" })).rejects.toThrow("Parse Error");
    const text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n";
    expect((await replyUnder({ kind: "garbage", text })).complete).toBe(false);
  });

  it.each(["before_head", "mid_body"] as const)("hangs %s for as long as the caller stays", async (at) => {
    await using upstream = await startSimulatedUpstream({ name: "email", resources: EMAIL_RESOURCES });
    upstream.setFault({ kind: "hang", at });
    const leaving = new AbortController();
    const reply = call(upstream.url + PATH, { signal: leaving.signal }).catch(() => undefined);
    await eventually(
      "the request is counted",
      () => upstream.requests,
      (requests) => requests === 1,
    );
    let isOver = false;
    void reply.then(() => (isOver = true));
    // Whoever asks later is answered, time and again.
    upstream.setFault({ kind: "none" });
    for (let later = 0; later < 5; later += 1) expect((await call(upstream.url + PATH)).complete).toBe(true);
    expect(isOver).toBe(false);
    leaving.abort();
    expect((await reply)?.complete ?? false).toBe(false);
  });
});

describe("a fault of time", () => {
  it.each([
    { kind: "slow", delayMs: 20 },
    { kind: "jitter", minMs: 10, maxMs: 20 },
  ] as const)("answers well: $kind", async (fault) => {
    expect((await replyUnder(fault)).status).toBe(200);
  });

  it.each([
    { kind: "slow", delayMs: 3_600_000 },
    { kind: "jitter", minMs: 3_600_000, maxMs: 7_200_000 },
  ] as const)("answers late, after those who asked later: $kind", async (fault) => {
    await using upstream = await startSimulatedUpstream({ name: "email" });
    upstream.setFault(fault);
    let isAnswered = false;
    const late = call(upstream.url + PATH).then(
      () => (isAnswered = true),
      () => undefined,
    );
    await eventually(
      "the request is counted",
      () => upstream.requests,
      (requests) => requests === 1,
    );
    upstream.setFault({ kind: "none" });
    expect((await call(upstream.url + PATH)).status).toBe(200);
    expect(isAnswered).toBe(false);
    await upstream.close();
    await late;
  });
});

it("breaks and mends at once, and is given back to its script", async () => {
  const entries = [
    { fromMs: 0, untilMs: 10, fault: { kind: "status", code: 418 } as const, words: "is a teapot" },
  ];
  await using upstream = await startSimulatedUpstream({ name: "email", script: { periodMs: 10, entries } });
  const status = async (): Promise<number> => (await call(upstream.url + PATH)).status;
  expect(await status()).toBe(418);
  upstream.setFault({ kind: "status", code: 500 });
  expect(await status()).toBe(500);
  upstream.setFault({ kind: "none" });
  expect(await status()).toBe(200);
  upstream.setFault(undefined);
  expect(await status()).toBe(418);
  expect(upstream.seen.map(({ fault }) => fault.kind)).toEqual(["status", "status", "none", "status"]);
});
