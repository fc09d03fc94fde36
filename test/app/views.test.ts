import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { columnsInFile, metricsView, statusView, type ViewSources } from "../../src/app/views.ts";
import { expose } from "../../src/exposition/exposition.ts";
import { openBudgets } from "../../src/app/features/polling.ts";
import { TestLedger } from "../support/test-ledger.ts";
import { worstBurn } from "../../src/features/history/credit.ts";
import type { Config, Upstream } from "../../src/kernel/config/config.ts";
import { History } from "../../src/features/history/history.ts";
import { UpstreamRecord } from "../../src/features/history/upstream-record.ts";
import type { ColumnsQuestion } from "../../src/features/history/state.ts";
import { LAST_HOUR, RANGES } from "../../src/features/history/timeline.ts";
import { UNKNOWN_HEALTH } from "../../src/kernel/poll/health.ts";
import { prove } from "../../src/proof/proof.ts";
import { routesToAsk } from "../support/routes-to-ask.ts";
import { sampleBudget, sampleConfig, samplePoll, sampleUpstream } from "../support/kernel-samples.ts";
import { sampleAnswerHints, sampleRoutesDeps } from "../support/samples.ts";
import { timersAtOnce } from "../support/virtual/stopped-time.ts";
import { VirtualClock } from "../support/virtual/clock.ts";
import { OK, outcomeOf } from "../../src/kernel/exchange/outcome.ts";
import { METRICS } from "../../src/app/features/shown.ts";
import { formats } from "../../src/exposition/formats.ts";
import { PROOF_PARTS } from "../../src/app/features/proof.ts";

const UPSTREAMS = 1_000;
const POLLS = 20;
const NAMES = Array.from({ length: UPSTREAMS }, (_, index) => `upstream-${index}`);

type Shown = NonNullable<ReturnType<ViewSources["life"]>>;

/** What the whole daemon shows of thousands of upstreams, each with an incident for every second poll. */
function sources(): Omit<ViewSources, "life"> & { readonly config: Config; readonly own: Shown } {
  const nowMs = systemClock.wallNow();
  const config = sampleConfig({
    budgets: NAMES.map((name) => sampleBudget({ name })),
    upstreams: NAMES.map((name) => sampleUpstream({ name, budgets: [name] })),
  });
  const records = new Map(NAMES.map((name) => [name, recordOf(name, nowMs)]));
  return {
    config,
    clock: systemClock,
    startedAtMs: () => nowMs,
    own: {
      budgets: openBudgets(config, systemClock),
      store: undefined,
      running: {},
      polling: {
        recordOf: (name) => records.get(name),
        healthOf: () => UNKNOWN_HEALTH,
        owedSinceMs: () => nowMs,
        nextSlotAtMs: () => nowMs,
        offlineUpstreams: () => 0,
      },
    },
    reload: {
      config,
      proof: prove(config, PROOF_PARTS),
      status: { successful: true, lastSuccessAtMs: nowMs },
    },
    isReady: () => true,
  };
}

function recordOf(name: string, nowMs: number): UpstreamRecord {
  const record = new UpstreamRecord(new History(name, nowMs), []);
  for (let index = 0; index < POLLS; index += 1) {
    const atMs = nowMs - (POLLS - index) * 60_000;
    const isOk = index % 2 === 0;
    const outcome = isOk ? OK : outcomeOf("dns");
    record.record({
      kind: "polled",
      poll: samplePoll({ id: `${index}`, sentAtMs: atMs, endedAtMs: atMs, outcome }),
    });
    record.record({ kind: "health_changed", from: "up", to: isOk ? "up" : "down", atMs });
  }
  return record;
}

const shown = sources();

/** Counts how much is read of the config and of the records, in the turn that takes most of it. */
class Work {
  total = 0;
  most = 0;
  #inTurn = 0;
  /** Whoever reads the time finds that a turn is over. */
  #nowMs = 1_000;

  constructor() {
    const now = vi.spyOn(performance, "now").mockImplementation(() => (this.#nowMs += 5));
    onTestFinished(() => now.mockRestore());
  }

  add(work: number): void {
    this.total += work;
    this.#inTurn += work;
    this.most = Math.max(this.most, this.#inTurn);
  }

  async untilOver(work: Promise<unknown>): Promise<void> {
    const over = new AbortController();
    void work.finally(() => over.abort());
    while (!over.signal.aborted) {
      await nextTurn();
      this.#inTurn = 0;
    }
  }

  counted<Of extends object>(of: Of): Of {
    return new Proxy(of, { get: (target, name) => (this.add(1), Reflect.get(target, name, target)) });
  }
}

test.each(["/metrics", "/api/v1/upstreams", "/", "/api/v1/incidents"])(
  "while %s is made of thousands of upstreams, polls and probes get their turns",
  async (path) => {
    timersAtOnce();
    const work = new Work();
    const config = {
      ...shown.config,
      upstreams: shown.config.upstreams.map((upstream) => work.counted(upstream)),
      budgets: shown.config.budgets.map((budget) => work.counted(budget)),
    };
    const polling = {
      ...shown.own.polling,
      recordOf: (name: string) => (work.add(1), shown.own.polling.recordOf(name)),
      nextSlotAtMs: (upstream: Upstream) => (work.add(1), shown.own.polling.nextSlotAtMs(upstream)),
    };
    const reload = { ...shown.reload, config };
    const view = { ...shown, reload, life: () => ({ ...shown.own, polling }) };
    const parts: number[] = [];
    const deps = sampleRoutesDeps({
      metrics: formats((format) => expose(METRICS, metricsView(view), format)),
      status: () => statusView(view),
    });
    const app = routesToAsk(deps);
    const whole = Promise.resolve(app.request(path)).then(async ({ body }) => {
      const decoder = new TextDecoder();
      let text = "";
      for await (const part of body ?? []) {
        parts.push(part.length);
        text += decoder.decode(part, { stream: true });
      }
      return text;
    });
    await work.untilOver(whole);
    expect(await whole).toContain("upstream-999");
    expect(work.total).toBeGreaterThanOrEqual(2 * UPSTREAMS);
    expect(work.most / work.total).toBeLessThan(0.3);
    expect(parts.length).toBeGreaterThan(1);
    expect(Math.max(...parts)).toBeLessThanOrEqual(131_072);
  },
);

const HOUR_MS = 3_600_000;

test.each([
  ["two days back", -48 * HOUR_MS],
  ["a month ahead", 30 * 24 * HOUR_MS],
])("a wall clock that is set %s does not change when our own quota is used up", async (_, stepMs) => {
  const clock = new VirtualClock();
  const quota = {
    most: 100,
    perMs: 30 * 24 * HOUR_MS,
    onExhaust: "stop" as const,
  };
  const config = sampleConfig({ budgets: [sampleBudget({ name: "api", quota })], upstreams: [] });
  const ledger = new TestLedger(config, clock);
  const status = { successful: true, lastSuccessAtMs: clock.wallNow() };
  const reload = { config, proof: prove(config, PROOF_PARTS), status };
  const life = (): Shown => ({ ...shown.own, budgets: ledger.budgets });
  const hoursLeft = (): number => {
    const [budget] = metricsView({ ...shown, clock, reload, life }).budgets;
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

test("a budget is shown with its pause by the wall clock, and with what was used of its quota", () => {
  const clock = new VirtualClock();
  const quota = { most: 100, perMs: 30 * 24 * HOUR_MS, onExhaust: "stop" } as const;
  const config = sampleConfig({ budgets: [sampleBudget({ name: "api", quota })], upstreams: [] });
  const ledger = new TestLedger(config, clock);
  const reload = { ...shown.reload, config, proof: prove(config, PROOF_PARTS) };
  const life = (): Shown => ({ ...shown.own, budgets: ledger.budgets });
  const view = (): unknown => [...metricsView({ ...shown, clock, reload, life }).budgets][0];
  expect(view()).toMatchObject({ name: "api", pausedUntilWallMs: 0, quota: { limit: 100, used: 0 } });
  ledger.hints.heard(["api"], sampleAnswerHints({ throttled: true }));
  const count = ledger.quotas.of("api", "requests");
  count?.end(count.send(70), 70);
  expect(view()).toMatchObject({ pausedUntilWallMs: clock.wallNow() + 60_000, quota: { used: 70 } });
});

test("the state file is asked for a day at most, and only of what is polled here", async () => {
  const asked: string[] = [];
  const store = {
    columns: ({ upstream, fromMs, toMs, columnMs }: ColumnsQuestion) => {
      asked.push(`${upstream} ${(toMs - fromMs) / columnMs}`);
      return Promise.resolve(undefined);
    },
  };
  const { own, clock } = sources();
  const view = { clock, life: () => ({ ...own, store }) };
  for (const range of RANGES) await columnsInFile(view, "upstream-1", range);
  await columnsInFile(view, "gone", LAST_HOUR);
  expect(asked).toEqual(["upstream-1 60", "upstream-1 144"]);
});

test("what is in memory has the outcomes and latencies of every range", () => {
  const { own, ...rest } = sources();
  const status = statusView({ ...rest, life: () => own });
  for (const range of RANGES) {
    const { columns, columnMs, areQuantiles } = status.columns("upstream-1", range);
    const polls = columns.flatMap(({ counts }) => Object.values(counts)).reduce((sum, each) => sum + each, 0);
    expect([polls, areQuantiles]).toEqual([POLLS, false]);
    expect(columns.every(({ counts, latency }) => counts.ok > 0 === (latency !== undefined))).toBe(true);
    expect(columnMs).toBeGreaterThanOrEqual(range.columnMs);
  }
  expect(status.columns("gone", LAST_HOUR).columns).toEqual([]);
});

test("a process that stands by shows no upstream, no budget and no receiver, and says who leads", () => {
  const fleet = {
    running: { fleet: { isLeading: false, isLockUp: true, digest: "abc" } },
    status: { name: "b", isLeading: false, leader: { name: "a", sinceMs: 1 } },
  };
  const view = { ...shown, lead: () => fleet, life: () => undefined };
  const { upstreams, budgets, notifier, offlineUpstreams } = metricsView(view);
  expect([...upstreams, ...budgets, notifier, offlineUpstreams]).toEqual([undefined, undefined]);
  const status = statusView(view);
  expect([...status.upstreams]).toEqual([]);
  expect(status).toMatchObject({ ready: true, fleet: fleet.status });
});
