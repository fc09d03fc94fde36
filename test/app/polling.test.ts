import { expect, test } from "vitest";
import { NameResolver } from "../../src/adapters/dns/name-resolver.ts";
import { KnownKeys } from "../../src/adapters/secrets/known-keys.ts";
import { AppPolling } from "../../src/app/polling.ts";
import { closeProbes } from "../../src/app/probes.ts";
import { fleetViews } from "../../src/app/views.ts";
import { Quotas } from "../../src/core/budget/quotas.ts";
import type { Budget, Upstream } from "../../src/core/config/config.ts";
import { UpstreamPauses } from "../../src/core/budget/pauses.ts";
import { LocalLedger } from "../../src/core/budget/local-ledger.ts";
import type { UpstreamRecord } from "../../src/core/history/upstream-record.ts";
import { outcomeOf } from "../../src/core/exchange/outcome.ts";
import type { RestoredUpstream, StateStore } from "../../src/core/history/state.ts";
import type { Probe } from "../../src/core/poll/ports.ts";
import { type Incident, pollStatusOf } from "../../src/core/status/status.ts";
import {
  sampleAdvice,
  sampleBudget,
  sampleConfig,
  sampleFleetView,
  samplePoll,
  sampleSchedule,
  sampleUpstream,
} from "../support/samples.ts";
import { restoredOf, StateBench, TIMEOUT } from "../adapters/sqlite/bench.ts";
import { VirtualClock } from "../support/virtual/clock.ts";

const HOUR_MS = 3_600_000;
const mute = (): void => {};

type Opened = {
  readonly polling: AppPolling;
  readonly clock: VirtualClock;
  readonly ledger: LocalLedger;
  readonly told: readonly (readonly [upstream: string, kind: string])[];
  readonly environment: Record<string, string>;
  readonly errors: readonly string[];
  readonly quotas: Quotas;
  readonly details: readonly unknown[];
};

type World = {
  readonly upstreams?: readonly Upstream[];
  readonly budgets?: readonly Budget[];
  /** What the state file has of upstreams in an incident, by default of one. */
  readonly left?: (nowMs: number) => RestoredUpstream;
  readonly leftNames?: readonly string[];
  /** In place of one that only reads. */
  readonly file?: Pick<StateBench, "clock"> & { readonly store: StateStore };
};

function opened({
  upstreams = [sampleUpstream({ name: "ai" })],
  budgets = [sampleBudget()],
  left,
  leftNames = ["email"],
  file,
}: World = {}): Opened {
  const clock = file?.clock ?? new VirtualClock();
  const told: [string, string][] = [];
  const environment: Record<string, string> = {};
  const errors: string[] = [];
  const details: unknown[] = [];
  const config = sampleConfig({ upstreams, budgets: [...budgets] });
  const point = { atMs: clock.wallNow(), value: 500, refilled: 0, name: "credits" };
  const restored = new Map<string, RestoredUpstream>([
    ["ai", { polls: [], failures: [], incidents: [], evidence: [], minutes: [], hours: [], values: [point] }],
  ]);
  if (left !== undefined) for (const name of leftNames) restored.set(name, left(clock.wallNow()));
  const store: Pick<StateStore, "restored" | "inAnIncident" | "recorderOf"> = {
    inAnIncident: left === undefined ? [] : leftNames,
    restored: (name) => {
      const once = restored.get(name);
      restored.delete(name);
      return once;
    },
    recorderOf: (name) => ({ record: ({ kind }) => void told.push([name, kind]) }),
  };
  const quotas = new Quotas(clock);
  const ledger = new LocalLedger(config, clock, quotas);
  const pauses = new UpstreamPauses(clock, undefined, (name) => void told.push([name, "paused"]));
  const polling = new AppPolling(config, {
    environment,
    keys: new KnownKeys([]),
    clock,
    names: new NameResolver({ clock }),
    log: {
      level: "info",
      debug: mute,
      info: (fields) => {
        if ("cause" in fields) details.push("detail" in fields ? fields.detail : undefined);
      },
      warn: mute,
      error: (_, message) => void errors.push(message),
    },
    ledger,
    pauses,
    quotas,
    store: file?.store ?? store,
    holdings: { has: () => true },
    stopping: new AbortController().signal,
    onBug: (bug) => {
      throw bug;
    },
  });
  return { polling, clock, ledger, told, environment, errors, quotas, details };
}

const NO_BULLETIN = (): undefined => undefined;

test("an upstream that a replica takes over a second and a third time goes on with its values", async () => {
  const { polling, clock } = opened();
  await using _ = polling;
  const see = (value: number): void => {
    const poll = samplePoll({ endedAtMs: clock.wallNow(), values: [{ name: "credits", value }] });
    polling.recordOf("ai")?.record({ kind: "polled", poll });
  };
  for (const left of [400, 300, 200]) {
    await polling.gain([{ upstream: "ai", unheldMs: undefined, view: undefined }]);
    await clock.advance(1);
    for (let polls = 0; polls < 3; polls += 1) {
      clock.stepWall(HOUR_MS);
      see(left);
    }
    void polling.drop(["ai"], "cut off");
    await clock.advance(1);
    expect(polling.recordOf("ai")).toBeUndefined();
  }
  await polling.gain([{ upstream: "ai", unheldMs: undefined, view: undefined }]);
  await clock.advance(1);
  see(200);
  const points = polling.recordOf("ai")?.history.values.points("credits") ?? [];
  expect(points[0]).toMatchObject({ value: 500 });
  expect(points.length).toBeGreaterThanOrEqual(9);
  void polling.drop(["ai"], "cut off");
});

test("an upstream that left and came back goes on with what was counted, and with the time that was watched", async () => {
  const { polling, clock } = opened();
  await using _ = polling;
  const see = (polls: number): void => {
    for (let turn = 0; turn < polls; turn += 1) {
      clock.stepWall(15_000);
      const atMs = clock.wallNow();
      const poll = samplePoll({ sentAtMs: atMs, endedAtMs: atMs, delayMs: 0, usualGapMs: 15_000 });
      polling.recordOf("ai")?.record({ kind: "polled", poll });
    }
  };
  const lastHour = () => polling.recordOf("ai")?.history.availability(clock.wallNow())[0];
  await polling.gain([{ upstream: "ai", unheldMs: undefined, view: undefined }]);
  await clock.advance(1);
  see(21);
  expect(lastHour()).toMatchObject({ ok: 21, watchedMs: 300_000 });
  void polling.drop(["ai"], "cut off");
  await clock.advance(1);
  clock.stepWall(600_000);
  await polling.gain([{ upstream: "ai", unheldMs: undefined, view: undefined }]);
  await clock.advance(1);
  expect(lastHour()).toMatchObject({ ok: 21, watchedMs: 300_000 });
  // The ten minutes between were not watched, but for the gap before the first poll.
  see(1);
  expect(lastHour()).toMatchObject({ ok: 22, watchedMs: 315_000 });
  void polling.drop(["ai"], "cut off");
});

test("an upstream that left the config while nothing ran: its incident ended when it was seen last, also where it comes back at once", async () => {
  const incident = {
    upstream: "email",
    state: "down",
    reason: "timeout",
    polls: 4,
    endedAtMs: undefined,
  } as const;
  const lastPoll = (atMs: number) => pollStatusOf(samplePoll({ sentAtMs: atMs, endedAtMs: atMs }));
  const { polling, clock, told } = opened({
    left: (nowMs) => ({
      polls: [lastPoll(nowMs - 60_000)],
      failures: [],
      incidents: [{ ...incident, startedAtMs: nowMs - 120_000 }],
      evidence: [],
      minutes: [],
      hours: [],
      values: [],
    }),
  });
  const startedMs = clock.wallNow();
  await using _ = polling;
  const config = sampleConfig({ upstreams: [sampleUpstream({ name: "ai" })] });
  polling.apply(config, new Map());
  expect(told).toEqual([["email", "unwatched"]]);
  const both = sampleConfig({ upstreams: ["ai", "email"].map((name) => sampleUpstream({ name })) });
  polling.apply(both, new Map());
  await polling.gain([{ upstream: "email", unheldMs: undefined, view: undefined }]);
  await clock.advance(1);
  expect(polling.recordOf("email")?.history.incidents).toEqual([
    { ...incident, startedAtMs: startedMs - 120_000, endedAtMs: startedMs - 60_000, isUnwatched: true },
  ]);
  void polling.drop(["email"], "cut off");
});

const OPEN = { upstream: "email", state: "down", reason: "timeout", polls: 4, endedAtMs: undefined } as const;

test.each([
  ["up", "ok", [], 30_000],
  ["down", "failed", [{ ...OPEN, startedAtMs: 1 }], 30_000],
  ["throttled", "throttled", [{ ...OPEN, state: "throttled", startedAtMs: 1 }], 30_000],
  // A failure that nobody has confirmed, what is of long ago, and what does not fit together.
  ["unknown", "failed", [], 30_000],
  ["unknown", "ok", [], 181_000],
  ["unknown", "ok", [{ ...OPEN, startedAtMs: 1 }], 30_000],
] as const)(
  "after a restart an upstream is %s until its first poll: the last one was %s, %j, %i ms ago",
  async (state, outcome, incidents, agoMs) => {
    const schedule = { ...sampleUpstream().schedule, longestGapMs: 60_000 };
    const email = sampleUpstream({ name: "email", schedule });
    const { polling, clock, told } = opened({
      upstreams: [email],
      left: (nowMs) => ({
        polls: [{ ...pollStatusOf(samplePoll({ sentAtMs: nowMs - agoMs })), outcome }],
        failures: [],
        incidents,
        evidence: [],
        minutes: [],
        hours: [],
        values: [],
      }),
    });
    await using _ = polling;
    await polling.gain([{ upstream: "email", unheldMs: undefined, view: undefined }]);
    const { health } = polling.conditionOf(email);
    expect(health).toMatchObject({ state, isUp: { up: true, down: false }[state as string] });
    expect(polling.recordOf("email")?.history.sinceMs).toBe(
      state === "down" || state === "throttled" ? 1 : clock.wallNow(),
    );
    expect(told.filter(([, kind]) => kind === "health_changed")).toEqual([]);
    void polling.drop(["email"], "cut off");
  },
);

test("an outage that ended while nothing ran is not open again after one more restart, though polls were ok since", async () => {
  await using bench = await StateBench.make();
  const { clock } = bench;
  const email = sampleUpstream({ name: "email", schedule: sampleSchedule(60_000) });
  const life = async (polls: (record: UpstreamRecord) => void): Promise<readonly Incident[]> => {
    const store = await bench.open();
    const { polling } = opened({ upstreams: [email], file: { clock, store } });
    await polling.gain([{ upstream: "email", unheldMs: undefined, view: undefined }]);
    const record = polling.recordOf("email");
    if (record === undefined) throw new Error("it is not polled");
    const { incidents } = record.history;
    polls(record);
    void polling.drop(["email"], "cut off");
    await store.close();
    return incidents;
  };
  const startedAtMs = clock.wallNow();
  await life((record) => {
    bench.poll(record, TIMEOUT, "fail-1");
    record.record({ kind: "health_changed", from: "up", to: "down", atMs: startedAtMs });
  });
  await clock.advance(9 * HOUR_MS);
  const over = await life((record) => {
    bench.poll(record);
    record.record({ kind: "health_changed", from: "unknown", to: "up", atMs: clock.wallNow() });
  });
  expect(over).toMatchObject([{ startedAtMs, isUnwatched: true }]);
  expect(await life(() => {})).toEqual(over);
  // Nor does it last until the upstream leaves the config.
  const store = await bench.open();
  const config = sampleConfig({ upstreams: [sampleUpstream({ name: "ai" })] });
  opened({ upstreams: [...config.upstreams], file: { clock, store } }).polling.apply(config, new Map());
  await store.close();
  expect((await restoredOf(bench))?.incidents).toEqual(over);
});

test.each([
  ["goes on with the incident that it is of", 30_000, undefined, ["fail"]],
  ["is none of what comes after nobody looked for long", 3 * HOUR_MS, undefined, []],
  ["is none of what another replica sees", 30_000, sampleFleetView({ state: "up", incident: undefined }), []],
])("evidence that is restored %s", async (_name, agoMs, view, expected) => {
  const email = sampleUpstream({ name: "email", schedule: sampleSchedule(60_000) });
  const pollAt = (atMs: number) => ({
    ...pollStatusOf(samplePoll({ id: "fail", sentAtMs: atMs, endedAtMs: atMs })),
    outcome: "failed" as const,
  });
  const { polling } = opened({
    upstreams: [email],
    left: (nowMs) => ({
      polls: [pollAt(nowMs - agoMs)],
      failures: [],
      incidents: [{ ...OPEN, startedAtMs: nowMs - agoMs }],
      evidence: [pollAt(nowMs - agoMs)],
      minutes: [],
      hours: [],
      values: [],
    }),
  });
  await using _ = polling;
  await polling.gain([{ upstream: "email", unheldMs: undefined, view }]);
  expect(polling.recordOf("email")?.history.evidence.polls.map(({ id }) => id)).toEqual(expected);
  void polling.drop(["email"], "cut off");
});

test("an incident keeps its evidence while another replica watches it in between", async () => {
  const email = sampleUpstream({ name: "email", schedule: sampleSchedule(60_000) });
  const { polling, clock } = opened({ upstreams: [email] });
  await using _ = polling;
  const fail = (id: string): void => {
    const times = { sentAtMs: clock.wallNow(), endedAtMs: clock.wallNow() };
    polling
      .recordOf("email")
      ?.record({ kind: "polled", poll: samplePoll({ id, outcome: outcomeOf("timeout"), ...times }) });
  };
  await polling.gain([{ upstream: "email", unheldMs: undefined, view: undefined }]);
  const startedAtMs = clock.wallNow();
  for (const id of ["fail-1", "fail-2", "fail-3"]) fail(id);
  polling.recordOf("email")?.record({ kind: "health_changed", from: "up", to: "down", atMs: startedAtMs });
  void polling.drop(["email"], "cut off");
  await clock.advance(1);
  const incident = { ...OPEN, startedAtMs };
  const view = sampleFleetView({ state: "down", sinceMs: startedAtMs, lastPollAtMs: startedAtMs, incident });
  await polling.gain([{ upstream: "email", unheldMs: undefined, view }]);
  fail("fail-4");
  expect(polling.recordOf("email")?.history.evidence.polls.map(({ id }) => id)).toEqual([
    "fail-1",
    "fail-2",
    "fail-4",
  ]);
  void polling.drop(["email"], "cut off");
});

test("how long an incident goes on unseen follows the schedule of the present config", async () => {
  const { polling } = opened();
  await using _ = polling;
  await polling.gain([{ upstream: "ai", unheldMs: undefined, view: undefined }]);
  const history = polling.recordOf("ai")?.history;
  expect(history?.longestGapMs).toBe(sampleUpstream().schedule.longestGapMs);
  const schedule = sampleSchedule(12 * HOUR_MS);
  polling.apply(sampleConfig({ upstreams: [sampleUpstream({ name: "ai", schedule })] }), new Map());
  expect(history?.longestGapMs).toBe(12 * HOUR_MS);
  void polling.drop(["ai"], "cut off");
});

const UPSTREAM = sampleUpstream({ name: "ai" });

test("a failure in the network is counted within a minute where no other upstream is polled for hours", async () => {
  const schedule = { ...sampleUpstream().schedule, longestGapMs: 12 * HOUR_MS };
  const upstreams = ["ai", "email"].map((name) =>
    sampleUpstream({ name, schedule, url: `https://${name}.example/v1` }),
  );
  const { polling, clock } = opened({ upstreams });
  await using _ = polling;
  await polling.gain(upstreams.map(({ name }) => ({ upstream: name, unheldMs: undefined, view: undefined })));
  const record = polling.recordOf("ai");
  const poll = samplePoll({ endedAtMs: clock.wallNow(), outcome: outcomeOf("timeout") });
  record?.record({ kind: "polled", poll });
  await clock.advance(20_000);
  expect(record?.accounts.durations.failed).toBeUndefined();
  await clock.advance(40_000);
  expect(record?.accounts.durations.failed?.count).toBe(1);
  void polling.drop(["ai", "email"], "cut off");
});

test("a takeover in an outage says since when it is down, and goes on with its incident", async () => {
  const { polling, clock, ledger } = opened();
  await using _ = polling;
  const beganMs = clock.wallNow() - HOUR_MS;
  const incident = { state: "down", reason: "timeout", startedAtMs: beganMs, polls: 240 } as const;
  const seen = {
    state: "down",
    isUp: false,
    sinceMs: beganMs,
    lastPollAtMs: clock.wallNow() - 12_000,
    incident,
  } as const;
  const view = sampleFleetView({ ...seen, knownUntilMs: clock.wallNow() + 30_000 });
  await polling.gain([{ upstream: "ai", unheldMs: 12_000, view }]);
  await clock.advance(1);
  expect(polling.conditionOf(UPSTREAM).health).toMatchObject({ state: "down", isUp: false });
  const history = polling.recordOf("ai")?.history;
  expect(history?.sinceMs).toBe(beganMs);
  expect(history?.incidents).toEqual([{ upstream: "ai", ...incident, endedAtMs: undefined }]);
  // Whoever takes over next, before anything was polled here, is told the same.
  const told = new Map(fleetViews([UPSTREAM], polling, ledger, clock, NO_BULLETIN)).get("ai");
  expect(told).toMatchObject({ ...seen, incident });
  expect(told?.knownUntilMs).toBeGreaterThan(clock.wallNow());
  expect(told?.knownUntilMs).toBeLessThan(clock.wallNow() + 45_000);
  void polling.drop(["ai"], "cut off");
});

test("others are told of an upstream once something was heard of it, or when all is told", async () => {
  const { polling, clock } = opened();
  await using _ = polling;
  const toTell = (isWhole: boolean): readonly string[] => polling.toTell(isWhole).map(({ name }) => name);
  await polling.gain([{ upstream: "ai", unheldMs: undefined, view: undefined }]);
  await clock.advance(1);
  expect(toTell(false)).toEqual(["ai"]);
  expect(toTell(false)).toEqual([]);
  expect(toTell(true)).toEqual(["ai"]);
  polling.recordOf("ai")?.record({ kind: "polled", poll: samplePoll({ sentAtMs: clock.wallNow() }) });
  void polling.drop(["ai"], "cut off");
  expect(toTell(false)).toEqual([]);
});

test("an upstream that nobody has polled for three slots is taken over as unknown, in an incident that goes on", async () => {
  const { polling, clock } = opened();
  await using _ = polling;
  const beganMs = clock.wallNow() - HOUR_MS;
  const incident = { state: "down", reason: "timeout", startedAtMs: beganMs, polls: 240 } as const;
  const lastPollAtMs = clock.wallNow() - 50_000;
  const view = sampleFleetView({ state: "down", isUp: false, lastPollAtMs, incident, sinceMs: beganMs });
  await polling.gain([
    { upstream: "ai", unheldMs: 50_000, view: { ...view, knownUntilMs: lastPollAtMs + 45_000 } },
  ]);
  await clock.advance(1);
  expect(polling.conditionOf(UPSTREAM).health).toMatchObject({ state: "unknown", isUp: undefined });
  expect(polling.recordOf("ai")?.history.sinceMs).toBeGreaterThan(beganMs);
  expect(polling.recordOf("ai")?.history.incidents).toMatchObject([{ ...incident, endedAtMs: undefined }]);
  // A slot every 15 s was missed while nobody held it.
  expect(polling.recordOf("ai")?.accounts.skips.of("missed")).toBeGreaterThanOrEqual(3);
  void polling.drop(["ai"], "cut off");
});

test("an upstream whose budget is paused is known for as long as that lasts, to other replicas too", async () => {
  const { polling, clock, ledger } = opened();
  await using _ = polling;
  await polling.gain([{ upstream: "ai", unheldMs: undefined, view: undefined }]);
  await clock.advance(1);
  polling.recordOf("ai")?.record({ kind: "polled", poll: samplePoll({ sentAtMs: clock.wallNow() }) });
  const untilOf = (): number =>
    new Map(fleetViews([UPSTREAM], polling, ledger, clock, NO_BULLETIN)).get("ai")?.knownUntilMs ?? 0;
  // Three slots of 15 s, rounded up to a second.
  expect(untilOf()).toBeGreaterThanOrEqual(clock.wallNow() + 45_000);
  expect(untilOf()).toBeLessThanOrEqual(clock.wallNow() + 46_000);
  polling.pause("ai", 600_000);
  ledger.applyAdvice(
    UPSTREAM.budgets,
    sampleAdvice({ throttled: true, pause: { scope: "budget", forMs: 900_000, source: "retry_after" } }),
  );
  expect(untilOf()).toBeGreaterThan(clock.wallNow() + 900_000);
  void polling.drop(["ai"], "cut off");
});

test("what another replica said of an upstream is forgotten with it: it may be polled there for long before it comes back", async () => {
  const { polling } = opened();
  await using _ = polling;
  const view = sampleFleetView({ bulletin: "down since 10:02" });
  await polling.gain([{ upstream: "ai", unheldMs: undefined, view }]);
  expect(polling.bulletinBefore("ai")).toBe("down since 10:02");
  await polling.drop(["ai"], "cut off");
  expect(polling.bulletinBefore("ai")).toBeUndefined();
});

test("a pause that another replica heard of is kept by all, whoever polls the upstream next, and goes round once", async () => {
  const { polling, told } = opened();
  await using _ = polling;
  const paused = (): readonly string[] => told.flatMap(([name, kind]) => (kind === "paused" ? [name] : []));
  polling.pause("ai", 600_000);
  polling.pause("ai", 600_000);
  polling.pause("ai", 300_000);
  expect(paused()).toEqual(["ai"]);
  polling.pause("ai", 900_000);
  expect(paused()).toEqual(["ai", "ai"]);
});

test("an upstream of the fleet whose key cannot be read is tried again every five seconds, until it can or is lost", async () => {
  const auth = { kind: "bearer", secret: { env: "TEST_KEY" } } as const;
  const upstreams = ["ai", "maps"].map((name) => sampleUpstream({ name, auth }));
  const { polling, clock, environment, errors } = opened({
    upstreams: [...upstreams, sampleUpstream({ name: "free" })],
  });
  await using _ = polling;
  const settle = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    await polling.exclusively(() => Promise.resolve());
  };
  await polling.gain(
    ["ai", "maps", "free"].map((upstream) => ({ upstream, unheldMs: undefined, view: undefined })),
  );
  const isPolled = (): readonly boolean[] =>
    ["ai", "maps", "free"].map((name) => polling.recordOf(name) !== undefined);
  expect(isPolled()).toEqual([false, false, true]);
  expect(errors).toHaveLength(1);
  await settle(4_000);
  expect(errors).toHaveLength(1);
  await settle(2_000);
  expect(errors).toHaveLength(2);
  await polling.drop(["maps"], "cut off");
  environment["TEST_KEY"] = "test-key-1";
  await settle(6_000);
  expect(isPolled()).toEqual([true, false, true]);
  expect(errors).toHaveLength(2);
  await polling.drop(["ai", "free"], "cut off");
});

test("a slot that is skipped as nothing is left of a quota says of which, and nothing where that is not known", async () => {
  const budgets = ["account", "model"];
  const quota = { most: 1, perMs: HOUR_MS, onExhaust: "stop" } as const;
  for (const [budget, detail] of [
    ["model", expect.stringContaining("1 of 1 requests used")],
    [undefined, expect.stringContaining("1 of 1 requests used")],
    ["account", undefined],
  ] as const) {
    const { polling, quotas, details } = opened({
      upstreams: [sampleUpstream({ name: "ai", budgets })],
      budgets: [sampleBudget({ name: "account" }), sampleBudget({ name: "model", quota })],
    });
    await using _ = polling;
    await polling.gain([{ upstream: "ai", unheldMs: undefined, view: undefined }]);
    const count = quotas.of("model", "requests");
    count.end(count.send(1), 1);
    const skipped = { kind: "slots_skipped", cause: "quota", count: 1 } as const;
    polling.recordOf("ai")?.record({ ...skipped, budget });
    expect(details).toEqual([detail]);
    await polling.drop(["ai"], "cut off");
  }
});

test("of upstreams that left the config five hundred are remembered, the latest ones", async () => {
  const names = Array.from({ length: 501 }, (_, index) => `gone-${index}`);
  const incidentAt = (startedAtMs: number): RestoredUpstream => ({
    polls: [],
    failures: [],
    incidents: [{ ...OPEN, upstream: "gone", startedAtMs }],
    evidence: [],
    minutes: [],
    hours: [],
    values: [],
  });
  const { polling } = opened({ left: (nowMs) => incidentAt(nowMs - 60_000), leftNames: names });
  await using _ = polling;
  const ai = sampleUpstream({ name: "ai" });
  polling.apply(sampleConfig({ upstreams: [ai] }), new Map());
  const back = ["gone-0", "gone-1", "gone-500"];
  polling.apply(
    sampleConfig({ upstreams: [ai, ...back.map((name) => sampleUpstream({ name }))] }),
    new Map(),
  );
  await polling.gain(back.map((upstream) => ({ upstream, unheldMs: undefined, view: undefined })));
  expect(back.map((name) => polling.recordOf(name)?.history.incidents.length)).toEqual([0, 1, 1]);
  await polling.drop(back, "cut off");
});

test("probes that were opened for nothing are closed, each of them", async () => {
  const closed: string[] = [];
  const probeOf = (name: string): Probe => ({
    poll: () => Promise.reject(new Error("nobody polls")),
    close: () => Promise.resolve(void closed.push(name)),
  });
  await closeProbes(new Map(["ai", "email"].map((name) => [name, probeOf(name)])));
  expect(closed).toEqual(["ai", "email"]);
});
