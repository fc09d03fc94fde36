import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { availabilityOf } from "../../../src/features/history/availability.ts";
import type { ValueStatus } from "../../../src/features/values/facts.ts";
import { routesToAsk } from "../../support/routes-to-ask.ts";
import {
  sampleAnnouncement,
  sampleBudgetStatus,
  sampleFleetStatus,
  samplePollStatus,
  sampleRoutesDeps,
  sampleStatus,
  sampleUpstreamStatus,
} from "../../support/samples.ts";

/** Every fact known: so every field is there. */
const POLL = samplePollStatus({
  outcome: "failed",
  reason: "server_error",
  status: 503,
  excerpt: "{}",
  headers: [{ name: "x-request-id", bytes: 8, value: "req_7f3a" }],
});
const VALUE: ValueStatus = {
  name: "credits_remaining",
  unit: "usd",
  value: 1,
  seenAtMs: 1,
  credit: { sentence: "", emptyAtMs: 1, burns: [{ window: "1d", perSecond: 1, emptyAtMs: 1 }] },
};
const INCIDENT = {
  state: "down" as const,
  reason: "dns",
  startedAtMs: 1,
  endedAtMs: 2,
  polls: 3,
  reasons: { server_error: 2, timeout: 1 },
  answeredBy: "email",
};
const FULL = sampleStatus({
  stateStoreUp: true,
  stateLostAtMs: undefined,
  upstreams: [
    sampleUpstreamStatus({
      links: { support: "https://support.example" },
      certificateExpiresAtMs: 1,
      announcement: sampleAnnouncement({
        deprecatedAtMs: 1,
        sunsetAtMs: 1,
        links: [{ rel: "sunset", target: "https://api.example.com/end" }],
        warning: "soon",
      }),
      missedLastHour: ["availability"],
      lastPolls: [POLL],
      lastFailures: [POLL],
      skippedSincePoll: [{ cause: "budget", count: 1 }],
      values: [VALUE],
    }),
  ],
  budgets: [
    sampleBudgetStatus({
      advertised: { limit: 1, remaining: 1 },
      limits: [
        {
          sentence: "",
          unit: "requests",
          limit: 1,
          remaining: 1,
          perMs: 1,
          windowFrom: "resets",
          resource: "core",
        },
      ],
      quota: { limit: 1, perMs: 1, used: 1, unconfirmed: 1, forecast: 1 },
      spend: { limit: 1, perMs: 1, used: 1, unconfirmed: 1, forecast: 1, currency: "EUR" },
      quotas: [
        {
          quota: "1d",
          sentence: "",
          emptyAtMs: 1,
          burns: [{ window: "1h", perSecond: 1, emptyAtMs: 1 }],
        },
      ],
    }),
  ],
  incidents: [{ ...INCIDENT, upstream: "ai-router" }],
  valueHistories: { [VALUE.name]: [{ atMs: 1, value: 1 }] },
});

const VALUE_HISTORIES = [{ name: "string", points: [{ atMs: "number", value: "number" }] }];

type Json = Record<string, unknown>;

/** Keys and the types of their values, all the way down; lists by their first element. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]));
}

async function documented(path: string): Promise<Json> {
  const text = await readFile(new URL("../../../docs/api.md", import.meta.url), "utf8");
  const section = text.split("\n### ").find((part) => part.startsWith(`\`${path}\``)) ?? "";
  return JSON.parse(/```json\n([^]*?)```/.exec(section)?.[1] ?? "") as Json;
}

async function answered(path: string): Promise<Json> {
  const answer = await routesToAsk(sampleRoutesDeps({ status: () => FULL })).request(path);
  return (await answer.json()) as Json;
}

test("the list of upstreams has the documented shape, no field more or less", async () => {
  expect(shapeOf(await answered("/api/v1/upstreams"))).toEqual(
    shapeOf(await documented("/api/v1/upstreams")),
  );
});

test("one upstream has it, with its polls and failures in place of the last one", async () => {
  const list = shapeOf(await documented("/api/v1/upstreams")) as { readonly [key: string]: readonly Json[] };
  const [{ lastPoll, ...upstream } = {}] = list["upstreams"] ?? [];
  const answer = await answered("/api/v1/upstreams/ai-router");
  expect(shapeOf(answer)).toEqual({
    nowMs: "number",
    upstream: {
      ...upstream,
      lastPolls: [lastPoll],
      lastFailures: [lastPoll],
      valueHistories: VALUE_HISTORIES,
    },
    budgets: list["budgets"],
    incidents: list["incidents"],
  });
  expect(Object.keys(answer)).toEqual(Object.keys(await documented("/api/v1/upstreams/NAME")));
});

test("of a process that stands by, no upstream is found, but who leads", async () => {
  const status = sampleStatus({ upstreams: [], fleet: sampleFleetStatus() });
  const routes = routesToAsk(sampleRoutesDeps({ status: () => status }));
  const answer = await routes.request("/api/v1/upstreams/email");
  expect(answer.status).toBe(404);
  expect(await answer.json()).toEqual({
    error: 'cannot show "email" here: "a" leads',
    leader: status.fleet?.leader,
  });
});

test("the incidents have it", async () => {
  const { incidents } = shapeOf(await documented("/api/v1/upstreams")) as Json;
  const answer = await answered("/api/v1/incidents");
  expect(shapeOf(answer)).toEqual({ nowMs: "number", incidents });
  expect(Object.keys(answer)).toEqual(Object.keys(await documented("/api/v1/incidents")));
});

test("what is not known is absent rather than null", async () => {
  const upstream = sampleUpstreamStatus({
    nextSlotAtMs: undefined,
    latency: undefined,
    lastPolls: [],
    health: { state: "unknown", sinceMs: 1, up: undefined },
    availability: [availabilityOf(1, { watchedMs: 0, failedMs: 0 })],
  });
  const app = routesToAsk(sampleRoutesDeps({ status: () => sampleStatus({ upstreams: [upstream] }) }));
  for (const path of ["/api/v1/upstreams", "/api/v1/upstreams/ai-router"]) {
    const text = await (await app.request(path)).text();
    expect(text).not.toContain("null");
    for (const name of ["nextSlotAtMs", "latency", "lastPoll", "up", "ratio", "stateStoreUp"])
      expect(text).not.toContain(`"${name}"`);
  }
});
