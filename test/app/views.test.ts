import { setImmediate as nextTurn } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { systemClock } from "../../src/adapters/clock.ts";
import { metricsView, statusView, type ViewSources } from "../../src/app/views.ts";
import { describeConfig } from "../../src/config/describe.ts";
import { LocalLedger } from "../../src/core/budget/local-ledger.ts";
import { worstBurn } from "../../src/core/answer/credit.ts";
import type { Config } from "../../src/core/config/config.ts";
import { History } from "../../src/core/history/history.ts";
import { UpstreamRecord } from "../../src/core/history/upstream-record.ts";
import { UNKNOWN_HEALTH } from "../../src/core/poll/health.ts";
import { routesToAsk } from "../support/routes-to-ask.ts";
import {
  sampleBudget,
  sampleConfig,
  samplePoll,
  sampleRoutesDeps,
  sampleUpstream,
} from "../support/samples.ts";
import { VirtualClock } from "../support/virtual/clock.ts";

const UPSTREAMS = 1_000;
const POLLS = 20;
const NAMES = Array.from({ length: UPSTREAMS }, (_, index) => `upstream-${index}`);

/** What the whole daemon shows of thousands of upstreams, each with an incident for every second poll. */
function sources(): ViewSources & { readonly config: Config } {
  const nowMs = systemClock.wallNow();
  const config = sampleConfig({
    budgets: NAMES.map((name) => sampleBudget({ name })),
    upstreams: NAMES.map((name) => sampleUpstream({ name, budgets: [name] })),
  });
  const records = new Map(NAMES.map((name) => [name, recordOf(name, nowMs)]));
  return {
    config,
    clock: systemClock,
    startedAtMs: nowMs,
    ledger: new LocalLedger(config, systemClock),
    store: undefined,
    fleet: undefined,
    polling: {
      recordOf: (name) => records.get(name),
      conditionOf: () => ({ health: UNKNOWN_HEALTH, pausedUntilMs: 0, nextSlotAtMs: nowMs }),
      offlineUpstreams: () => 0,
    },
    reload: { config, status: { successful: true, lastSuccessAtMs: nowMs } },
    isReady: () => true,
  };
}

function recordOf(name: string, nowMs: number): UpstreamRecord {
  const record = new UpstreamRecord(new History(name, nowMs), []);
  for (let index = 0; index < POLLS; index += 1) {
    const atMs = nowMs - (POLLS - index) * 60_000;
    const isOk = index % 2 === 0;
    const outcome = isOk ? { kind: "ok" as const } : { kind: "failed" as const, reason: "dns" as const };
    record.record({
      kind: "polled",
      poll: samplePoll({ id: `${index}`, sentAtMs: atMs, endedAtMs: atMs, outcome }),
    });
    record.record({ kind: "health_changed", from: "up", to: isOk ? "up" : "down", atMs });
  }
  return record;
}

/** The longest turn of the loop meanwhile, as a part of all of it: of the time at work, as others use this machine too. */
async function longestTurn(work: Promise<unknown>): Promise<number> {
  const done = new AbortController();
  void work.finally(() => done.abort());
  const beganMs = workedMs();
  let [lastMs, longestMs] = [beganMs, 0];
  while (!done.signal.aborted) {
    await nextTurn();
    longestMs = Math.max(longestMs, workedMs() - lastMs);
    lastMs = workedMs();
  }
  return longestMs / (lastMs - beganMs);
}

function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

const shown = sources();
const app = routesToAsk({
  ...sampleRoutesDeps(),
  status: (turns) => turns.run(statusView(shown)),
  config: () => describeConfig(shown.config),
});

test.each(["/api/v1/upstreams", "/", "/api/v1/incidents", "/api/v1/config"])(
  "while %s is made of thousands of upstreams, polls and probes get their turns",
  async (path) => {
    const answering = Promise.resolve(app.request(path, { headers: { "Accept-Encoding": "gzip" } }));
    const longest = await longestTurn(answering);
    const text = gunzipSync(Buffer.from(await (await answering).arrayBuffer())).toString();
    expect(text).toContain("upstream-999");
    expect(longest).toBeLessThan(0.3);
  },
);

const HOUR_MS = 3_600_000;

test.each([
  ["two days back", -48 * HOUR_MS],
  ["a month ahead", 30 * 24 * HOUR_MS],
])("a wall clock that is set %s does not change when our own quota is used up", async (_, stepMs) => {
  const clock = new VirtualClock();
  const quota = {
    requests: 100,
    perMs: 30 * 24 * HOUR_MS,
    onExhaust: "stop" as const,
    pricePerRequest: undefined,
  };
  const config = sampleConfig({ budgets: [sampleBudget({ name: "api", quota })], upstreams: [] });
  const ledger = new LocalLedger(config, clock);
  const reload = { config, status: { successful: true, lastSuccessAtMs: clock.wallNow() } };
  const hoursLeft = (): number => {
    const [budget] = metricsView({ ...shown, clock, ledger, reload }).budgets;
    return ((worstBurn(budget?.quotas?.[0]?.burns ?? [])?.emptyAtMs ?? 0) - clock.wallNow()) / HOUR_MS;
  };
  for (let hour = 0; hour < 30; hour += 1) {
    await clock.advance(HOUR_MS);
    const decision = ledger.take(["api"]);
    if (decision.kind === "granted") decision.lease.settle("answered");
  }
  const before = hoursLeft();
  expect(before).toBeGreaterThan(24);
  clock.stepWall(stepMs);
  expect(hoursLeft()).toBeCloseTo(before, 6);
});
