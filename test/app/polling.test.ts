import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { NameResolver } from "../../src/transport/dns/name-resolver.ts";
import { KnownKeys } from "../../src/transport/secrets/known-keys.ts";
import { AppPolling, type PollingParts } from "../../src/app/polling.ts";
import { closeProbes } from "../../src/app/probes.ts";
import type { Quotas } from "../../src/features/quota/quotas.ts";
import type { Budget, Upstream } from "../../src/kernel/config/config.ts";
import { TestLedger } from "../support/test-ledger.ts";
import type { UpstreamRecord } from "../../src/features/history/upstream-record.ts";
import { outcomeOf } from "../../src/kernel/exchange/outcome.ts";
import type { SeenBefore, Incident } from "../../src/features/history/incidents.ts";
import type { RestoredUpstream, StateStore } from "../../src/features/history/state.ts";
import type { Gate, Probe } from "../../src/kernel/poll/ports.ts";
import {
  sampleBudget,
  sampleConfig,
  samplePoll,
  sampleSchedule,
  sampleUpstream,
} from "../support/kernel-samples.ts";
import { sampleAnswerHints } from "../support/samples.ts";
import { restoredOf, StateBench, TIMEOUT } from "../features/state/bench.ts";
import type { Note } from "../../src/kernel/text/notes.ts";
import { VirtualClock } from "../support/virtual/clock.ts";
import { packedPolls } from "../../src/features/history/poll-ring.ts";
import { pollStatusOf } from "../../src/features/history/kept-poll.ts";

const HOUR_MS = 3_600_000;
const mute = (): void => {};
const UPSTREAM = sampleUpstream({ name: "ai" });

// Slots come by the clock of the machine. Here none comes but those that are asked for.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

type Opened = {
  readonly polling: AppPolling;
  readonly clock: VirtualClock;
  readonly ledger: TestLedger;
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
  /** By the leader before. */
  readonly seen?: (nowMs: number) => Readonly<Record<string, SeenBefore>>;
  /** In place of one that only reads. */
  readonly file?: Pick<StateBench, "clock"> & { readonly store: StateStore };
  readonly services?: NonNullable<PollingParts["services"]>;
};

function opened({
  upstreams = [UPSTREAM],
  budgets = [sampleBudget()],
  left,
  leftNames = ["email"],
  seen,
  file,
  services = [],
}: World = {}): Opened {
  const clock = file?.clock ?? new VirtualClock();
  const told: [string, string][] = [];
  const environment: Record<string, string> = {};
  const errors: string[] = [];
  const details: unknown[] = [];
  const config = sampleConfig({ upstreams, budgets: [...budgets] });
  const point = { atMs: clock.wallNow(), value: 500, refilled: 0, name: "credits" };
  const restored = new Map<string, RestoredUpstream>([
    [
      "ai",
      {
        polls: packedPolls([]),
        failures: [],
        incidents: [],
        evidence: [],
        minutes: new Int32Array(),
        hours: new Int32Array(),
        values: [point],
      },
    ],
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
  const nowMs = clock.wallNow();
  const before = seen && { atMs: nowMs - 5_000, seen: new Map(Object.entries(seen(nowMs))) };
  const keepPause = ({ key }: Note): void => void told.push([key, "paused"]);
  const ledger = new TestLedger(config, clock, { keepPause });
  const { budgets: opened, quotas } = ledger;
  const polling = new AppPolling(config, {
    environment,
    keys: new KnownKeys([]),
    clock,
    sinceBootMs: () => clock.now(),
    names: new NameResolver({ clock }),
    userAgent: "pacewatch/test",
    log: {
      level: "info",
      debug: mute,
      info: (fields) => {
        if ("cause" in fields) details.push("detail" in fields ? fields.detail : undefined);
      },
      warn: mute,
      error: (_, message) => void errors.push(message),
    },
    budgets: opened,
    services,
    store: file?.store ?? store,
    before,
    stopping: new AbortController().signal,
    onBug: (bug) => {
      throw bug;
    },
  });
  return { polling, clock, ledger, told, environment, errors, quotas, details };
}

async function comes(polling: AppPolling, upstreams: readonly Upstream[]): Promise<void> {
  const config = sampleConfig({ upstreams });
  const opening = await polling.open(config);
  if (opening.kind === "opened") polling.apply(config, opening.what);
}

function leaves(polling: AppPolling): void {
  polling.apply(sampleConfig({ upstreams: [] }), new Map());
}

test("an upstream that leaves the config and comes back a second and a third time goes on with its values", async () => {
  const { polling, clock } = opened();
  await using _ = polling;
  const see = (value: number): void => {
    const values = [{ name: "credits", value }];
    const poll = samplePoll({ endedAtMs: clock.wallNow(), said: { values: { values, unreadable: [] } } });
    polling.recordOf("ai")?.record({ kind: "polled", poll });
  };
  for (const left of [400, 300, 200]) {
    await comes(polling, [UPSTREAM]);
    await clock.advance(1);
    for (let polls = 0; polls < 3; polls += 1) {
      clock.stepWall(HOUR_MS);
      see(left);
    }
    leaves(polling);
    await clock.advance(1);
    expect(polling.recordOf("ai")).toBeUndefined();
  }
  await comes(polling, [UPSTREAM]);
  await clock.advance(1);
  see(200);
  const points = polling.recordOf("ai")?.history.tracks.of("credits")?.points ?? [];
  expect(points[0]).toMatchObject({ value: 500 });
  expect(points.length).toBeGreaterThanOrEqual(9);
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
  await comes(polling, [UPSTREAM]);
  await clock.advance(1);
  see(21);
  expect(lastHour()).toMatchObject({ watchedMs: 300_000, failedMs: 0 });
  leaves(polling);
  await clock.advance(1);
  clock.stepWall(600_000);
  await comes(polling, [UPSTREAM]);
  await clock.advance(1);
  expect(lastHour()).toMatchObject({ watchedMs: 300_000, failedMs: 0 });
  // The ten minutes between were not watched, but for the gap before the first poll.
  see(1);
  expect(lastHour()).toMatchObject({ watchedMs: 315_000, failedMs: 0 });
  // The last one of before, and this one.
  expect(polling.recordOf("ai")?.history.lastPolls).toHaveLength(2);
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
      polls: packedPolls([lastPoll(nowMs - 60_000)]),
      knownUntilMs: nowMs + 120_000,
      failures: [],
      incidents: [{ ...incident, startedAtMs: nowMs - 120_000 }],
      evidence: [],
      minutes: new Int32Array(),
      hours: new Int32Array(),
      values: [],
    }),
  });
  const startedMs = clock.wallNow();
  await using _ = polling;
  const config = sampleConfig({ upstreams: [sampleUpstream({ name: "ai" })] });
  polling.apply(config, new Map());
  expect(told).toEqual([["email", "unwatched"]]);
  await comes(
    polling,
    ["ai", "email"].map((name) => sampleUpstream({ name })),
  );
  await clock.advance(1);
  expect(polling.recordOf("email")?.history.incidents).toEqual([
    { ...incident, startedAtMs: startedMs - 120_000, endedAtMs: startedMs - 60_000, isUnwatched: true },
  ]);
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
    const schedule = sampleSchedule(60_000);
    const email = sampleUpstream({ name: "email", schedule });
    const { polling, clock, told } = opened({
      upstreams: [email],
      left: (nowMs) => ({
        polls: packedPolls([{ ...pollStatusOf(samplePoll({ sentAtMs: nowMs - agoMs })), outcome }]),
        knownUntilMs: nowMs - agoMs + 180_000,
        failures: [],
        incidents,
        evidence: [],
        minutes: new Int32Array(),
        hours: new Int32Array(),
        values: [],
      }),
    });
    await using _ = polling;
    await polling.begin();
    const health = polling.healthOf(email.name);
    expect(health).toMatchObject({ state, isUp: { up: true, down: false }[state as string] });
    expect(polling.recordOf("email")?.history.sinceMs).toBe(
      state === "down" || state === "throttled" ? 1 : clock.wallNow(),
    );
    expect(told.filter(([, kind]) => kind === "health_changed")).toEqual([]);
  },
);

test("an outage that ended while nothing ran is not open again after one more restart, though polls were ok since", async () => {
  await using bench = await StateBench.make();
  const { clock } = bench;
  const email = sampleUpstream({ name: "email", schedule: sampleSchedule(60_000) });
  const life = async (polls: (record: UpstreamRecord) => void): Promise<readonly Incident[]> => {
    const store = await bench.open();
    const { polling } = opened({ upstreams: [email], file: { clock, store } });
    await using _ = polling;
    await polling.begin();
    const record = polling.recordOf("email");
    if (record === undefined) throw new Error("it is not polled");
    const { incidents } = record.history;
    polls(record);
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
  ["is none of what another leader saw to be over", 30_000, () => ({}), []],
])("evidence that is restored %s", async (_name, agoMs, seen, expected) => {
  const email = sampleUpstream({ name: "email", schedule: sampleSchedule(60_000) });
  const pollAt = (atMs: number) => ({
    ...pollStatusOf(samplePoll({ id: "fail", sentAtMs: atMs, endedAtMs: atMs })),
    outcome: "failed" as const,
  });
  const { polling } = opened({
    upstreams: [email],
    ...(seen && { seen }),
    left: (nowMs) => ({
      polls: packedPolls([pollAt(nowMs - agoMs)]),
      knownUntilMs: nowMs - agoMs + 180_000,
      failures: [],
      incidents: [{ ...OPEN, startedAtMs: nowMs - agoMs }],
      evidence: [pollAt(nowMs - agoMs)],
      minutes: new Int32Array(),
      hours: new Int32Array(),
      values: [],
    }),
  });
  await using _ = polling;
  await polling.begin();
  expect(polling.recordOf("email")?.history.evidence.polls.map(({ id }) => id)).toEqual(expected);
});

test("how long an incident goes on unseen follows the schedule of the present config", async () => {
  const { polling } = opened();
  await using _ = polling;
  await polling.begin();
  const history = polling.recordOf("ai")?.history;
  expect(history?.schedule).toEqual(UPSTREAM.schedule);
  const schedule = sampleSchedule(12 * HOUR_MS);
  polling.apply(sampleConfig({ upstreams: [sampleUpstream({ name: "ai", schedule })] }), new Map());
  expect(history?.schedule).toBe(schedule);
});

test("a failure in the network is counted within a minute where no other upstream is polled for hours", async () => {
  const schedule = sampleSchedule(12 * HOUR_MS);
  const upstreams = ["ai", "email"].map((name) =>
    sampleUpstream({ name, schedule, url: `https://${name}.example/v1` }),
  );
  const { polling, clock } = opened({ upstreams });
  await using _ = polling;
  await polling.begin();
  const record = polling.recordOf("ai");
  const poll = samplePoll({ endedAtMs: clock.wallNow(), outcome: outcomeOf("timeout") });
  record?.record({ kind: "polled", poll });
  await clock.advance(20_000);
  expect(record?.accounts.durations.failed).toBeUndefined();
  await clock.advance(40_000);
  expect(record?.accounts.durations.failed?.count).toBe(1);
});

const OUTAGE = { state: "down", reason: "timeout", polls: 240 } as const;

/** Taken over from a leader that saw it down for an hour. */
const openedInOutage = (lastPollAgoMs: number, knownForMs: number) =>
  opened({
    seen: (nowMs) => ({
      ai: {
        state: "down",
        isUp: false,
        sinceMs: nowMs - HOUR_MS,
        lastPollAtMs: nowMs - lastPollAgoMs,
        knownUntilMs: nowMs + knownForMs,
        incident: { ...OUTAGE, startedAtMs: nowMs - HOUR_MS },
      },
    }),
  });

test("a takeover in an outage says since when it is down, and goes on with its incident", async () => {
  const { polling, clock } = openedInOutage(12_000, 30_000);
  await using _ = polling;
  const beganMs = clock.wallNow() - HOUR_MS;
  await polling.begin();
  await clock.advance(1);
  expect(polling.healthOf(UPSTREAM.name)).toMatchObject({ state: "down", isUp: false });
  const history = polling.recordOf("ai")?.history;
  expect(history?.sinceMs).toBe(beganMs);
  const incident = { upstream: "ai", ...OUTAGE, startedAtMs: beganMs, endedAtMs: undefined };
  expect(history?.incidents).toEqual([incident]);
  // Whoever leads next, before anything was polled here, is left the same.
  expect(polling.seen.get("ai")).toMatchObject({ state: "down", isUp: false, sinceMs: beganMs, incident });
});

test("an upstream that nobody has polled for three slots is taken over as unknown, in an incident that goes on", async () => {
  const { polling, clock } = openedInOutage(50_000, -5_000);
  await using _ = polling;
  await polling.begin();
  await clock.advance(1);
  expect(polling.healthOf(UPSTREAM.name)).toMatchObject({ state: "unknown", isUp: undefined });
  expect(polling.recordOf("ai")?.history.incidents).toMatchObject([{ ...OUTAGE, endedAtMs: undefined }]);
});

test.each([
  ["slower", 30_000, 6 * HOUR_MS, "unknown", 1],
  ["quicker", 6 * HOUR_MS, 30_000, "down", 0],
] as const)(
  "whether anybody looked is told by the schedule of that time: it is %s after a restart of eight hours",
  async (_, beforeMs, afterMs, state, ended) => {
    await using bench = await StateBench.make();
    const { clock } = bench;
    const store = await bench.open();
    const first = opened({
      upstreams: [sampleUpstream({ name: "email", schedule: sampleSchedule(beforeMs) })],
      file: { clock, store },
    });
    await first.polling.begin();
    const record = first.polling.recordOf("email");
    if (record === undefined) throw new Error("it is not polled");
    for (const id of ["one", "two"]) bench.poll(record, TIMEOUT, id);
    record.record({ kind: "health_changed", from: "up", to: "down", atMs: clock.wallNow() });
    await first.polling[Symbol.asyncDispose]();
    await store.close();
    await clock.advance(8 * HOUR_MS);
    const { polling } = opened({
      upstreams: [sampleUpstream({ name: "email", schedule: sampleSchedule(afterMs) })],
      file: { clock, store: await bench.open() },
    });
    await polling.begin();
    expect(polling.healthOf("email").state).toBe(state);
    const incidents = polling.recordOf("email")?.history.incidents ?? [];
    expect(incidents.filter(({ isUnwatched }) => isUnwatched)).toHaveLength(ended);
    await polling[Symbol.asyncDispose]();
  },
);

test("what the state file knows is the newer, where this process led last itself", async () => {
  const { polling } = opened({
    leftNames: ["ai"],
    left: (nowMs) => ({
      polls: packedPolls([pollStatusOf(samplePoll({ sentAtMs: nowMs - 1_000 }))]),
      knownUntilMs: nowMs + 30_000,
      failures: [],
      incidents: [],
      evidence: [],
      minutes: new Int32Array(),
      hours: new Int32Array(),
      values: [],
    }),
    seen: (nowMs) => ({
      ai: { state: "down", isUp: false, sinceMs: 1, lastPollAtMs: 1, knownUntilMs: nowMs + 30_000 },
    }),
  });
  await using _ = polling;
  await polling.begin();
  expect(polling.healthOf(UPSTREAM.name).state).toBe("up");
});

test("of upstreams that are well, nothing is left for the next leader, and of paused ones for as long as that lasts", async () => {
  const { polling, clock, ledger } = opened();
  await using _ = polling;
  await polling.begin();
  await clock.advance(1);
  expect(polling.seen.size).toBe(0);
  const record = polling.recordOf("ai");
  record?.record({
    kind: "polled",
    poll: samplePoll({ sentAtMs: clock.wallNow(), outcome: outcomeOf("rate") }),
  });
  record?.record({ kind: "health_changed", from: "unknown", to: "throttled", atMs: clock.wallNow() });
  ledger.hints.heard(
    UPSTREAM.budgets,
    sampleAnswerHints({ throttled: true, pause: { scope: "budget", forMs: 900_000, source: "retry_after" } }),
  );
  expect(polling.seen.get("ai")?.knownUntilMs).toBeGreaterThan(clock.wallNow() + 900_000);
});

test("an upstream whose key cannot be read as this process begins to lead is tried again every five seconds, until it can", async () => {
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
  await polling.begin();
  const isPolled = (): readonly boolean[] =>
    ["ai", "maps", "free"].map((name) => polling.recordOf(name) !== undefined);
  expect(isPolled()).toEqual([false, false, true]);
  expect(errors).toHaveLength(1);
  await settle(4_000);
  expect(errors).toHaveLength(1);
  await settle(2_000);
  environment["TEST_KEY"] = "test-key-1";
  await settle(6_000);
  expect(isPolled()).toEqual([true, true, true]);
  expect(errors).toHaveLength(2);
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
    await polling.begin();
    const count = quotas.of("model", "requests");
    count?.end(count.send(1), 1);
    const skipped = { kind: "slots_skipped", cause: "quota", count: 1 } as const;
    polling.recordOf("ai")?.record({ ...skipped, budget });
    expect(details).toEqual([detail]);
  }
});

test("of upstreams that left the config five hundred are remembered, the latest ones", async () => {
  const names = Array.from({ length: 501 }, (_, index) => `gone-${index}`);
  const incidentAt = (startedAtMs: number): RestoredUpstream => ({
    polls: packedPolls([]),
    failures: [],
    incidents: [{ ...OPEN, upstream: "gone", startedAtMs }],
    evidence: [],
    minutes: new Int32Array(),
    hours: new Int32Array(),
    values: [],
  });
  const { polling } = opened({ left: (nowMs) => incidentAt(nowMs - 60_000), leftNames: names });
  await using _ = polling;
  polling.apply(sampleConfig({ upstreams: [UPSTREAM] }), new Map());
  const back = ["gone-0", "gone-1", "gone-500"];
  await comes(polling, [UPSTREAM, ...back.map((name) => sampleUpstream({ name }))]);
  expect(back.map((name) => polling.recordOf(name)?.history.incidents.length)).toEqual([0, 1, 1]);
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

test("what runs beside the polls may hold an upstream back, and leaves the others alone", async () => {
  const gateOf = ({ name }: Upstream): Gate | undefined =>
    name === "ai" ? { held: () => ({ cause: "backoff" }) } : undefined;
  const { polling, clock } = opened({ services: [{ gateOf }, {}] });
  await using _ = polling;
  await comes(polling, [UPSTREAM, sampleUpstream({ name: "email" })]);
  await clock.advance(1);
  expect(polling.recordOf("ai")?.accounts).toMatchObject({ slots: 1, waiting: 0 });
  expect(polling.recordOf("ai")?.accounts.skips.of("backoff")).toBe(1);
  expect(polling.recordOf("email")?.accounts).toMatchObject({ slots: 0, waiting: 1 });
});
