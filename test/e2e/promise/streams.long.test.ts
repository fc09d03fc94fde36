import { expect, test } from "vitest";
import type { Fault } from "../../../src/simulator/faults.ts";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { sumOfSamples } from "../../support/metrics/exposition-parser.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { silent } from "../../support/silent.ts";

const WINDOW_MS = 1_000;
const MODELS = ["small", "large"];
const COMPLETIONS = {
  auth: { none: true },
  path: "/v1/chat/completions",
  method: "POST",
  every: "1s",
  confirm: 0,
};
const STREAM = {
  format: "sse",
  ends: { data: "[DONE]" },
  counts: { path: "/choices/0/delta/content" },
  gap_timeout: "200ms",
};

const bodyFor = (model: string, tokens: number): object => ({
  json: { model, stream: true, max_tokens: tokens, messages: [{ role: "user", content: "Say ok." }] },
});

/** Each is what all streams do for a while. */
const ENDS: readonly (Fault | undefined)[] = [
  undefined,
  { kind: "error_event", data: '{"error":{"message":"The server had an error."}}' },
  { kind: "hang", at: "mid_body" },
  { kind: "reset", at: "mid_body" },
  { kind: "status", code: 503 },
];

test.concurrent("streams of several models keep each model's limit and the account's by the router's own count, however they end", async () => {
  const limitOf = (requests: number): { requests: number; perMs: number } => ({
    requests,
    perMs: WINDOW_MS,
  });
  await using router = await startSimulatedUpstream({
    name: "router",
    dialect: silent,
    limits: [limitOf(4)],
    models: [...MODELS, "endless"].map((id) => ({
      id,
      limits: [limitOf(1)],
      tokenMs: 5,
      millionTokensCost: 1,
    })),
  });
  const budgetOf = (requests: number): object => ({
    rate: { requests, per: `${WINDOW_MS}ms` },
    share: "100%",
  });
  await using folder = await openConfigFolder({
    web: { listen: "127.0.0.1:0" },
    budgets: {
      account: budgetOf(4),
      ...Object.fromEntries([...MODELS, "endless"].map((model) => [model, budgetOf(1)])),
    },
    defaults: { base_url: router.url },
    upstreams: [
      { name: "list", auth: { none: true }, budget: "account", every: "1s", confirm: 0 },
      {
        ...COMPLETIONS,
        name: "${each.model}",
        each: { model: MODELS },
        body: bodyFor("${each.model}", 10),
        budget: ["${each.model}", "account"],
        stream: STREAM,
      },
      {
        ...COMPLETIONS,
        name: "left",
        body: bodyFor("endless", 10_000),
        budget: ["endless", "account"],
        stream: { ...STREAM, at_most: 8 },
      },
    ],
  });
  await using daemon = await startDaemon({ configPath: folder.path });
  for (const end of ENDS) {
    for (const model of MODELS) router.setFault(end, model);
    const before = router.requests;
    await eventually(
      `each is asked again while streams end by ${end?.kind ?? "their end"}`,
      () => router.requests - before,
      (requests) => requests >= 5,
    );
  }
  expect(router.violations).toBe(0);
  expect(router.worstWindow()[0]?.requests).toBeLessThanOrEqual(4);
  for (const model of [...MODELS, "endless"]) expect(router.worstWindow(model)[0]?.requests).toBe(1);
  const metrics = await daemon.metrics();
  for (const reason of ["server_error", "timeout", "reset"]) {
    expect(sumOfSamples(metrics, "pacewatch_poll_reasons_total", { reason })).toBeGreaterThan(0);
  }
  expect(sumOfSamples(metrics, "pacewatch_polls_total", { outcome: "ok" })).toBeGreaterThan(0);
  // Of ten thousand tokens, those of eight events, and what was on its way when the connection was closed.
  const { completions, tokens } = router.billOf("endless");
  expect(completions).toBeGreaterThan(0);
  expect(tokens).toBeLessThan(completions * 5_000);
});

test.concurrent("a lease is held until the stream is closed, and for a window from then on", async () => {
  const [tokens, tokenMs] = [10, 40];
  await using router = await startSimulatedUpstream({
    name: "router",
    dialect: silent,
    limits: [{ requests: 1, perMs: WINDOW_MS }],
    models: [{ id: "slow", tokenMs }],
  });
  await using folder = await openConfigFolder({
    web: { listen: "127.0.0.1:0" },
    budgets: { api: { rate: { requests: 1, per: `${WINDOW_MS}ms` }, share: "100%" } },
    upstreams: [
      {
        ...COMPLETIONS,
        name: "slow",
        base_url: router.url,
        body: bodyFor("slow", tokens),
        budget: "api",
        stream: STREAM,
      },
    ],
  });
  await using daemon = await startDaemon({ configPath: folder.path });
  await eventually("it is polled three times", () => router.requests >= 3);
  const gapsMs = router.seen.map(({ atMs }, index) => atMs - (router.seen[index - 1]?.atMs ?? 0)).slice(1);
  expect(router.violations).toBe(0);
  expect(sumOfSamples(await daemon.metrics(), "pacewatch_polls_total", { outcome: "failed" })).toBe(0);
  // A timer may fire a millisecond early.
  for (const gapMs of gapsMs) expect(gapMs).toBeGreaterThanOrEqual(WINDOW_MS + tokens * (tokenMs - 1));
});
