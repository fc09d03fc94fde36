import { expect, it } from "vitest";
import { AI_ROUTER_RESOURCES } from "../../src/simulator/resources.ts";
import { faultAt } from "../../src/simulator/faults.ts";
import { type SimulatedUpstream, startSimulatedUpstream } from "../../src/simulator/upstream.ts";
import { eventually } from "../support/eventually.ts";
import { call, type Reply } from "./caller.ts";

const LIMIT = { requests: 2, perMs: 60_000 };

function startRouter(tokenMs = 0): Promise<SimulatedUpstream> {
  return startSimulatedUpstream({
    name: "ai-router",
    resources: AI_ROUTER_RESOURCES,
    models: [
      { id: "small-chat-1", millionTokensCost: 0.5, tokenMs },
      { id: "large-chat-2", millionTokensCost: 10, limits: [LIMIT] },
    ],
  });
}

function complete(
  { url }: SimulatedUpstream,
  model: string,
  more: object = {},
  signal?: AbortSignal,
): Promise<Reply> {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Say ok." }], ...more });
  return call(`${url}/v1/chat/completions`, { method: "POST", body, ...(signal && { signal }) });
}

it("a completion says what it used, and the router bills just that", async () => {
  await using router = await startRouter();
  const reply = await complete(router, "small-chat-1", { max_tokens: 3 });
  expect(reply.status).toBe(200);
  const answer = JSON.parse(reply.body.toString());
  expect(answer.choices).toEqual([
    { index: 0, message: { role: "assistant", content: "ok ok ok" }, finish_reason: "length" },
  ]);
  expect(answer.usage.completion_tokens).toBe(3);
  const tokens = answer.usage.total_tokens;
  expect(router.billOf("small-chat-1")).toEqual({ completions: 1, tokens, cost: (tokens * 0.5) / 1e6 });
  expect(router.cost).toBe((tokens * 0.5) / 1e6);
  expect(router.billOf("large-chat-2")).toEqual({ completions: 0, tokens: 0, cost: 0 });
});

it("a model that is away or unknown, a wrong method and a request beyond a limit cost nothing", async () => {
  await using router = await startRouter();
  router.setFault({ kind: "status", code: 503 }, "small-chat-1");
  expect((await complete(router, "small-chat-1")).status).toBe(503);
  expect((await call(`${router.url}/v1/resources`)).status).toBe(200);
  const unknown = await complete(router, "no-such-model");
  expect([unknown.status, JSON.parse(unknown.body.toString()).error.code]).toEqual([404, "model_not_found"]);
  expect((await call(`${router.url}/v1/chat/completions`)).status).toBe(405);
  expect(router.cost).toBe(0);
  router.setFault(undefined, "small-chat-1");
  expect((await complete(router, "small-chat-1")).status).toBe(200);
  expect(router.billOf("small-chat-1").completions).toBe(1);
});

it("a model has a limit of its own besides the account's", async () => {
  await using router = await startRouter();
  const statuses: number[] = [];
  for (const model of ["large-chat-2", "large-chat-2", "large-chat-2", "small-chat-1"]) {
    statuses.push((await complete(router, model)).status);
  }
  expect(statuses).toEqual([200, 200, 429, 200]);
  expect(router.seen.map(({ isRefused }) => isRefused)).toEqual([false, false, true, false]);
  expect(router.billOf("large-chat-2").completions).toBe(2);
  expect(router.worstWindow("large-chat-2")).toEqual([{ limit: LIMIT, requests: 3 }]);
  expect(router.requests).toBe(4);
});

it("who leaves before the answer pays for the completion all the same", async () => {
  await using router = await startRouter();
  router.setFault({ kind: "slow", delayMs: 3_600_000 });
  const leaving = new AbortController();
  const left = complete(router, "small-chat-1", {}, leaving.signal).catch(() => "left");
  await eventually("the request is counted", () => router.requests);
  leaving.abort();
  expect(await left).toBe("left");
  expect(await eventually("it is billed", () => router.billOf("small-chat-1").completions)).toBe(1);
});

it("a stream sends the role, each token, what was used, and its end", async () => {
  await using router = await startRouter();
  const reply = await complete(router, "small-chat-1", { max_tokens: 2, stream: true });
  expect(reply.headers["content-type"]).toBe("text/event-stream");
  const events = reply.body.toString().split("\n\n");
  expect(events.slice(-2)).toEqual(["data: [DONE]", ""]);
  const chunks = events.slice(0, -2).map((event) => JSON.parse(event.replace("data: ", "")));
  expect(chunks.map(({ choices }) => choices[0].delta.content)).toEqual(["", "ok ", "ok ", undefined]);
  expect(chunks[3].usage.total_tokens).toBe(router.billOf("small-chat-1").tokens);
});

it("a stream that is left is billed for the tokens that it had sent", async () => {
  await using router = await startRouter(5);
  const leaving = new AbortController();
  const left = complete(router, "small-chat-1", { max_tokens: 10_000, stream: true }, leaving.signal).catch(
    () => "left",
  );
  const begun = await eventually("tokens are billed", () => router.billOf("small-chat-1").tokens);
  leaving.abort();
  await left;
  expect(begun).toBeGreaterThan(0);
  expect(router.billOf("small-chat-1").tokens).toBeLessThan(10_000);
});

it("a stream can stall, be cut off, or send an error in its middle", async () => {
  await using router = await startRouter();
  const ask = (): Promise<Reply> => complete(router, "small-chat-1", { max_tokens: 5, stream: true });
  router.setFault({ kind: "error_event", data: '{"error":{"code":"overloaded"}}' });
  const failed = (await ask()).body.toString().split("\n\n");
  expect(failed).toHaveLength(6);
  expect(failed[4]).toBe('data: {"error":{"code":"overloaded"}}');
  router.setFault({ kind: "close", at: "mid_body" }, "small-chat-1");
  expect(await ask()).toMatchObject({ status: 200, complete: false });
});

it("a script can have an entry for one model alone", () => {
  const script = {
    periodMs: Number.POSITIVE_INFINITY,
    entries: [{ fromMs: 0, untilMs: 10, model: "a", fault: { kind: "unauthorized" }, words: "rejects a" }],
  } as const;
  expect(["a", "b", undefined].map((model) => faultAt(script, 5, model).kind)).toEqual([
    "unauthorized",
    "none",
    "none",
  ]);
});
