import { expect, it } from "vitest";
import {
  AI_ROUTER_DEMO_SCRIPT,
  type DemoOptions,
  type DemoUpstreams,
  EMAIL_DEMO_SCRIPT,
  startDemoUpstreams,
} from "../../src/simulator/demo-upstreams.ts";
import { ALWAYS_HEALTHY, type Fault, faultAt, type FaultScript } from "../../src/simulator/faults.ts";
import { describeScript } from "../../src/simulator/timeline.ts";
import { eventually } from "../support/eventually.ts";
import { call } from "./caller.ts";

/** One upstream breaks and mends ten times a second, the other never does. */
const QUICK: NonNullable<DemoOptions["scripts"]> = {
  email: {
    periodMs: 100,
    entries: [{ fromMs: 50, untilMs: 100, fault: { kind: "status", code: 500 }, words: "answers 500" }],
  },
  aiRouter: ALWAYS_HEALTHY,
};

function kindsOf(script: FaultScript): ReadonlySet<Fault["kind"]> {
  return new Set(script.entries.map(({ fault }) => fault.kind));
}

it("both upstreams are healthy for the first 40 seconds, and break within three minutes", () => {
  for (const script of [EMAIL_DEMO_SCRIPT, AI_ROUTER_DEMO_SCRIPT]) {
    expect(script.periodMs).toBe(180_000);
    for (let elapsedMs = 0; elapsedMs < 40_000; elapsedMs += 100) {
      expect(faultAt(script, elapsedMs).kind).toBe("none");
    }
    expect(faultAt(script, 40_000).kind).not.toBe("none");
  }
  expect(kindsOf(EMAIL_DEMO_SCRIPT)).toEqual(new Set(["slow", "status", "reset", "unauthorized"]));
  expect(kindsOf(AI_ROUTER_DEMO_SCRIPT)).toEqual(new Set(["jitter", "throttle", "error_event", "hang"]));
});

it("both are never slow at once, which would look like our own network", () => {
  const isSlow = (kind: Fault["kind"]): boolean => kind === "slow" || kind === "jitter";
  for (let elapsedMs = 0; elapsedMs < 180_000; elapsedMs += 100) {
    const kinds = [EMAIL_DEMO_SCRIPT, AI_ROUTER_DEMO_SCRIPT].map((script) => faultAt(script, elapsedMs).kind);
    expect(kinds.every(isSlow)).toBe(false);
  }
});

it("the timeline of the demo reads like a story", () => {
  expect(describeScript(EMAIL_DEMO_SCRIPT)).toEqual([
    "0:00 to 0:40  is healthy",
    "0:40 to 1:05  answers after 3 s",
    "1:05 to 1:30  answers 500",
    "1:30 to 1:50  is healthy",
    "1:50 to 2:10  resets connections",
    "2:10 to 2:25  is healthy",
    "2:25 to 2:50  answers 401, as to a revoked key",
    "2:50 to 3:00  is healthy",
    "then again from 0:00",
  ]);
  expect(describeScript(AI_ROUTER_DEMO_SCRIPT)).toEqual([
    "0:00 to 0:40  is healthy",
    "0:40 to 1:00  answers 429 with Retry-After: 10",
    "1:00 to 1:05  is healthy",
    "1:05 to 1:25  answers after 0.2 s to 3.5 s",
    "1:25 to 1:30  is healthy",
    "1:30 to 2:10  lists its models, and breaks off each completion of large-chat-2",
    "2:10 to 2:15  is healthy",
    "2:15 to 3:00  accepts requests and never answers",
    "then again from 0:00",
  ]);
});

it("the environment leads to both upstreams, with keys that open them and limits as in real life", async () => {
  await using demo = await startDemoUpstreams({ seed: 1 });
  const { environment } = demo;
  const email = await call(`${environment.EMAIL_API_BASE_URL}/v1/resources`, {
    headers: { Authorization: `Bearer ${environment.EMAIL_API_KEY}` },
  });
  expect([email.status, email.headers["x-ratelimit-limit"]]).toEqual([200, "1000"]);
  const aiRouter = await call(`${environment.AI_ROUTER_BASE_URL}/v1/resources`, {
    headers: { Authorization: `Bearer ${environment.AI_ROUTER_API_KEY}` },
  });
  expect([aiRouter.status, aiRouter.headers["ratelimit-policy"]]).toEqual([200, '"per-60s";q=60;w=60']);
  expect([demo.email.requests, demo.aiRouter.requests]).toEqual([1, 1]);
  expect((await call(`${environment.EMAIL_API_BASE_URL}/v1/resources`)).status).toBe(401);
});

it("changes are told as they happen", async () => {
  const told: string[] = [];
  await using demo = await startDemoUpstreams({
    seed: 1,
    scripts: QUICK,
    onFaultChange: (name, words) => told.push(`${name} ${words}`),
  });
  await eventually(
    "four changes are told",
    () => told.length,
    (changes) => changes >= 4,
  );
  const [first, second] = told;
  expect(new Set([first, second])).toEqual(new Set(["email answers 500", "email is healthy"]));
  expect(told.slice(2, 4)).toEqual([first, second]);
  // Nobody had to ask for that.
  expect(demo.email.requests).toBe(0);
});

it("closing ends both, and tells no more", async () => {
  const [told, toldByOther]: [string[], string[]] = [[], []];
  const start = async (tell: string[]): Promise<DemoUpstreams> =>
    startDemoUpstreams({ seed: 1, scripts: QUICK, onFaultChange: (name) => tell.push(name) });
  const demo = await start(told);
  await eventually("a change is told", () => told.length);
  await demo[Symbol.asyncDispose]();
  const toldBefore = told.length;
  // By the time that another of the same script has told all of it twice, the next changes would have come.
  const other = await start(toldByOther);
  await eventually("the other has told of four changes", () => toldByOther.length >= 4);
  await other[Symbol.asyncDispose]();
  expect(told.length).toBe(toldBefore);
  await expect(call(demo.environment.EMAIL_API_BASE_URL)).rejects.toThrow("ECONNREFUSED");
  await expect(call(demo.environment.AI_ROUTER_BASE_URL)).rejects.toThrow("ECONNREFUSED");
});
