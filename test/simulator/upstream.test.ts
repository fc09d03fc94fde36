import { describe, expect, it, onTestFinished, vi } from "vitest";
import { xRatelimit } from "../../src/simulator/dialects.ts";
import { AI_ROUTER_RESOURCES } from "../../src/simulator/resources.ts";
import { startSimulatedUpstream } from "../../src/simulator/upstream.ts";
import { eventually } from "../support/eventually.ts";
import { call } from "./caller.ts";

const PATH = "/v1/resources";
const KEY = "test-key-upstream";

describe("a healthy upstream", () => {
  it("lists its resources as JSON", async () => {
    await using upstream = await startSimulatedUpstream({
      name: "ai-router",
      resources: AI_ROUTER_RESOURCES,
    });
    const reply = await call(upstream.url + PATH);
    expect(reply.status).toBe(200);
    expect(reply.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(reply.body.toString())).toEqual({
      object: "list",
      total: 4,
      data: AI_ROUTER_RESOURCES,
    });
  });

  it("knows no other path and no other method", async () => {
    await using upstream = await startSimulatedUpstream({ name: "email" });
    expect((await call(`${upstream.url}/`)).status).toBe(404);
    expect((await call(`${upstream.url}/v1/resources/1`)).status).toBe(404);
    const posted = await call(upstream.url + PATH, { method: "POST" });
    expect([posted.status, posted.headers.allow]).toEqual([405, "GET"]);
    expect((await call(upstream.url + PATH, { method: "HEAD" })).status).toBe(405);
  });

  it("remembers who called, and how", async () => {
    await using upstream = await startSimulatedUpstream({ name: "email", keepSeen: 2 });
    for (const page of [1, 2, 3]) {
      await call(`${upstream.url}${PATH}?page=${page}`, { headers: { "X-Team": "growth" } });
    }
    expect(upstream.requests).toBe(3);
    expect(upstream.seen.map(({ method, target }) => `${method} ${target}`)).toEqual([
      "GET /v1/resources?page=2",
      "GET /v1/resources?page=3",
    ]);
    expect(upstream.seen[0]?.headers["x-team"]).toBe("growth");
  });

  it("takes its time", async () => {
    await using upstream = await startSimulatedUpstream({
      name: "email",
      latency: { minMs: 3_600_000, maxMs: 3_600_000 },
    });
    let isAnswered = false;
    const leaving = new AbortController();
    const late = call(upstream.url + PATH, { signal: leaving.signal })
      .then(() => (isAnswered = true))
      .catch(() => "left");
    await eventually(
      "the request is counted",
      () => upstream.requests,
      (requests) => requests === 1,
    );
    upstream.setFault({ kind: "slow", delayMs: 1 });
    expect((await call(upstream.url + PATH)).status).toBe(200);
    expect(isAnswered).toBe(false);
    leaving.abort();
    expect(await late).toBe("left");
  });
});

describe("the key", () => {
  it("is accepted as a bearer token, and asked for with a problem", async () => {
    await using upstream = await startSimulatedUpstream({ name: "email", key: KEY });
    const headers = { Authorization: "Bearer test-key-upstream" };
    expect((await call(upstream.url + PATH, { headers })).status).toBe(200);
    const refused = await call(upstream.url + PATH);
    expect(refused.status).toBe(401);
    expect(refused.headers["content-type"]).toBe("application/problem+json");
    expect(JSON.parse(refused.body.toString())).toMatchObject({ title: "Unauthorized", status: 401 });
    expect(upstream.seen.map(({ keyAccepted }) => keyAccepted)).toEqual([true, false]);
  });

  it("is refused when it is another one", async () => {
    await using upstream = await startSimulatedUpstream({ name: "email", key: KEY });
    for (const value of ["Bearer test-key-other", "Basic test-key-upstream", "Bearer test-key-upstream2"]) {
      expect((await call(upstream.url + PATH, { headers: { Authorization: value } })).status).toBe(401);
    }
  });
});

describe("the limits", () => {
  const limit = { requests: 2, perMs: 60_000 };

  it("refuse the request beyond them, and say when to come back", async () => {
    await using upstream = await startSimulatedUpstream({ name: "email", limits: [limit] });
    const replies = [1, 2, 3].map(() => call(upstream.url + PATH));
    const statuses = (await Promise.all(replies)).map(({ status }) => status);
    expect(statuses.sort((left, right) => left - right)).toEqual([200, 200, 429]);
    const refused = await call(upstream.url + PATH);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(30);
    expect(Number(refused.headers["retry-after"])).toBeLessThanOrEqual(60);
    expect(refused.headers["ratelimit-policy"]).toBe('"per-60s";q=2;w=60');
    expect(refused.headers["ratelimit"]).toBe(`"per-60s";r=0;t=${refused.headers["retry-after"]}`);
    expect([upstream.requests, upstream.violations]).toEqual([4, 2]);
    expect(upstream.seen.filter(({ isRefused }) => isRefused === true).length).toBe(2);
    expect(upstream.worstWindow()).toEqual([{ limit, requests: 4 }]);
  });

  it("are told for every window, while there is room", async () => {
    const limits = [{ requests: 5, perMs: 1000 }, limit];
    await using upstream = await startSimulatedUpstream({ name: "email", limits });
    const { status, headers } = await call(upstream.url + PATH);
    expect(status).toBe(200);
    expect(headers["ratelimit-policy"]).toBe('"per-1s";q=5;w=1, "per-60s";q=2;w=60');
    expect(headers["ratelimit"]).toBe('"per-1s";r=4;t=1, "per-60s";r=1;t=60');
    expect(headers["retry-after"]).toBeUndefined();
  });

  it("are told in the older headers, with a moment for the reset", async () => {
    const options = { name: "email", limits: [limit], dialect: xRatelimit };
    await using upstream = await startSimulatedUpstream(options);
    vi.useFakeTimers({ toFake: ["Date"], now: 1_790_000_000_000 });
    onTestFinished(() => void vi.useRealTimers());
    const { headers } = await call(upstream.url + PATH);
    expect([headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"]]).toEqual(["2", "1"]);
    expect(headers["x-ratelimit-reset"]).toBe("1790000060");
    expect(headers["ratelimit"]).toBeUndefined();
  });

  it("count what was answered 404, 401 or broken too", async () => {
    await using upstream = await startSimulatedUpstream({ name: "email", limits: [limit], key: KEY });
    await call(`${upstream.url}/elsewhere`);
    upstream.setFault({ kind: "reset", at: "before_head" });
    await call(upstream.url + PATH).catch(() => undefined);
    upstream.setFault(undefined);
    expect((await call(upstream.url + PATH)).status).toBe(429);
  });

  it("count a request before it is answered, even if its caller does not wait for that", async () => {
    await using upstream = await startSimulatedUpstream({ name: "email", limits: [limit] });
    upstream.setFault({ kind: "hang", at: "before_head" });
    const leaving = new AbortController();
    const left = call(upstream.url + PATH, { signal: leaving.signal }).catch(() => "left");
    await eventually(
      "the request is counted",
      () => upstream.requests,
      (requests) => requests === 1,
    );
    leaving.abort();
    expect(await left).toBe("left");
    expect(upstream.worstWindow()[0]?.requests).toBe(1);
  });
});

describe("closing", () => {
  it("ends every connection, the hanging ones too, and takes no more, however often it is closed", async () => {
    const first = await startSimulatedUpstream({ name: "email" });
    first.setFault({ kind: "hang", at: "before_head" });
    const hanging = [1, 2, 3].map(() => call(first.url + PATH).catch(() => "ended"));
    await eventually(
      "three requests are counted",
      () => first.requests,
      (requests) => requests === 3,
    );
    await first.close();
    await first.close();
    expect(await Promise.all(hanging)).toEqual(["ended", "ended", "ended"]);
    await expect(call(first.url + PATH)).rejects.toThrow("ECONNREFUSED");
  });
});
