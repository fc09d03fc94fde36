import { setTimeout as sleep } from "node:timers/promises";
import type { Fault, FaultScript, ScriptEntry } from "./faults.ts";
import { xRatelimit } from "./dialects.ts";
import { fixedWindow, slidingLog } from "./meters.ts";
import { AI_ROUTER_RESOURCES, EMAIL_RESOURCES } from "./resources.ts";
import { changesOf } from "./timeline.ts";
import { type SimulatedUpstream, startSimulatedUpstream, type UpstreamOptions } from "./upstream.ts";

export type DemoOptions = {
  readonly seed: number;
  /** Called at each change: `("email", "answers 500")`. */
  readonly onFaultChange?: (name: string, words: string) => void;
  readonly scripts?: { readonly email: FaultScript; readonly aiRouter: FaultScript };
};

/** The variables that the shipped config reads. */
type DemoEnvironment = Readonly<
  Record<"EMAIL_API_BASE_URL" | "EMAIL_API_KEY" | "AI_ROUTER_BASE_URL" | "AI_ROUTER_API_KEY", string>
>;

export type DemoUpstreams = AsyncDisposable & {
  readonly email: SimulatedUpstream;
  readonly aiRouter: SimulatedUpstream;
  readonly environment: DemoEnvironment;
};

const MINUTE_MS = 60_000;
const KEEP_SEEN = 1000;
const EMAIL_KEY = "demo-key-email";
const AI_ROUTER_KEY = "demo-key-ai-router";

export async function startDemoUpstreams(options: DemoOptions): Promise<DemoUpstreams> {
  const scripts = options.scripts ?? { email: EMAIL_DEMO_SCRIPT, aiRouter: AI_ROUTER_DEMO_SCRIPT };
  await using stack = new AsyncDisposableStack();
  const email = stack.use(await startSimulatedUpstream(emailOptions(options.seed, scripts.email)));
  const aiRouter = stack.use(await startSimulatedUpstream(aiRouterOptions(options.seed, scripts.aiRouter)));
  const { onFaultChange = () => {} } = options;
  const ending = new AbortController();
  stack.defer(() => ending.abort());
  void reportChanges(email, scripts.email, onFaultChange, ending.signal);
  void reportChanges(aiRouter, scripts.aiRouter, onFaultChange, ending.signal);
  const owned = stack.move();
  return {
    email,
    aiRouter,
    environment: {
      EMAIL_API_BASE_URL: email.url,
      EMAIL_API_KEY: EMAIL_KEY,
      AI_ROUTER_BASE_URL: aiRouter.url,
      AI_ROUTER_API_KEY: AI_ROUTER_KEY,
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function emailOptions(seed: number, script: FaultScript): UpstreamOptions {
  return {
    name: "email",
    key: EMAIL_KEY,
    limits: [{ requests: 1000, perMs: MINUTE_MS }],
    algorithm: fixedWindow,
    dialect: xRatelimit,
    latency: { minMs: 40, maxMs: 120 },
    resources: EMAIL_RESOURCES,
    keepSeen: KEEP_SEEN,
    seed,
    script,
  };
}

function aiRouterOptions(seed: number, script: FaultScript): UpstreamOptions {
  return {
    name: "ai-router",
    key: AI_ROUTER_KEY,
    limits: [{ requests: 60, perMs: MINUTE_MS }],
    algorithm: slidingLog,
    latency: { minMs: 120, maxMs: 450 },
    resources: AI_ROUTER_RESOURCES,
    models: ["small-chat-1", "large-chat-2"].map((id) => ({ id, millionTokensCost: 0.6, tokenMs: 40 })),
    keepSeen: KEEP_SEEN,
    seed: seed + 1,
    script,
  };
}

async function reportChanges(
  upstream: SimulatedUpstream,
  script: FaultScript,
  report: (name: string, words: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const { atMs, words } of changesOf(script)) {
    await sleep(Math.max(0, atMs - upstream.elapsedMs), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    report(upstream.name, words);
  }
}

/** Both begin with 40 s of health, then show every state of an upstream within three minutes. */
const PERIOD_MS = 180_000;

export const EMAIL_DEMO_SCRIPT: FaultScript = {
  periodMs: PERIOD_MS,
  entries: [
    entry(40, 65, "answers after 3 s", { kind: "slow", delayMs: 3_000 }),
    entry(65, 90, "answers 500", { kind: "status", code: 500 }),
    entry(110, 130, "resets connections", { kind: "reset", at: "before_head" }),
    entry(145, 170, "answers 401, as to a revoked key", { kind: "unauthorized" }),
  ],
};

export const AI_ROUTER_DEMO_SCRIPT: FaultScript = {
  periodMs: PERIOD_MS,
  entries: [
    // Where both were slow at once, our own network would be the likely cause. The pause after the last 429 may end at 70 s.
    entry(40, 60, "answers 429 with Retry-After: 10", { kind: "throttle", retryAfter: "10" }),
    entry(65, 85, "answers after 0.2 s to 3.5 s", { kind: "jitter", minMs: 200, maxMs: 3_500 }),
    {
      ...entry(90, 130, "lists its models, and breaks off each completion of large-chat-2", {
        kind: "error_event",
        data: '{"error":{"code":"model_overloaded","message":"The model is overloaded."}}',
      }),
      model: "large-chat-2",
    },
    // The hang is long enough for a poll and its confirmation to time out.
    entry(135, 180, "accepts requests and never answers", { kind: "hang", at: "before_head" }),
  ],
};

function entry(fromSeconds: number, untilSeconds: number, words: string, fault: Fault): ScriptEntry {
  return { fromMs: fromSeconds * 1000, untilMs: untilSeconds * 1000, fault, words };
}
