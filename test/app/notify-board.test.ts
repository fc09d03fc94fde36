import { expect, onTestFinished, test } from "vitest";
import { NameResolver } from "../../src/adapters/dns/name-resolver.ts";
import { KnownKeys } from "../../src/adapters/secrets/known-keys.ts";
import { AppNotify } from "../../src/app/notify.ts";
import { AppPolling } from "../../src/app/polling.ts";
import { LocalLedger } from "../../src/core/budget/local-ledger.ts";
import { Quotas } from "../../src/core/budget/quotas.ts";
import { outcomeOf } from "../../src/core/exchange/outcome.ts";
import { type Bulletin, conditionsOf, readBulletin } from "../../src/core/notify/bulletin.ts";
import type { Condition } from "../../src/core/notify/alert.ts";
import { hourOf } from "../../src/core/time/duration.ts";
import { prove } from "../../src/core/proof/proof.ts";
import { sampleReceiver } from "../support/notify/world.ts";
import { sampleBudget, sampleConfig, samplePoll, sampleUpstream } from "../support/samples.ts";
import { VirtualClock } from "../support/virtual/clock.ts";

const DAY_MS = 86_400_000;
const mute = (): void => {};
const QUOTA = { most: 1_000, perMs: 30 * DAY_MS, onExhaust: "stop" } as const;

type Opened = {
  readonly clock: VirtualClock;
  readonly polling: AppPolling;
  readonly status: { successful: boolean };
  readonly notify: AppNotify;
  readonly start: () => void;
};

/** `usedAnHour`: of its quota, in each of the last hours. */
async function opened(hasReceivers: boolean, usedAnHour = 0): Promise<Opened> {
  const clock = new VirtualClock();
  const config = sampleConfig({
    budgets: [sampleBudget({ quota: QUOTA })],
    upstreams: [sampleUpstream({ name: "ai" })],
    ...(hasReceivers && { notify: [sampleReceiver()] }),
  });
  const hour = hourOf(clock.wallNow());
  const used = Array.from({ length: 6 }, (_, ago) => ({
    budget: "api",
    of: "requests" as const,
    hour: hour - ago,
    requests: usedAnHour,
    unconfirmed: 0,
  }));
  const quotas = new Quotas(clock, { rows: used, lostHours: [] });
  const ledger = new LocalLedger(config, clock, quotas);
  const parts = {
    environment: {},
    keys: new KnownKeys([]),
    clock,
    names: new NameResolver({ clock }),
    log: { level: "info", debug: mute, info: mute, warn: mute, error: mute },
    store: undefined,
    onBug: (bug: unknown) => {
      throw bug;
    },
  };
  const stopping = new AbortController();
  const holdings = { has: () => true };
  const polling = new AppPolling(config, { ...parts, ledger, holdings, stopping: stopping.signal });
  await polling.gain([{ upstream: "ai", unheldMs: undefined, view: undefined }]);
  const notify = new AppNotify(config, parts);
  const status = { successful: true, lastSuccessAtMs: clock.wallNow() };
  const start = (): void =>
    notify.start({
      clock,
      startedAtMs: () => clock.wallNow(),
      ledger,
      store: undefined,
      fleet: undefined,
      notifier: notify.notifier,
      polling,
      reload: { config, proof: prove(config), status },
      isReady: () => true,
    });
  onTestFinished(async () => {
    stopping.abort();
    await notify.notifier.close();
    await polling.drop(["ai"], "cut off");
    await polling[Symbol.asyncDispose]();
  });
  return { clock, polling, status, notify, start };
}

/** As another replica reads it. */
function bulletinOf({ notify }: Opened): Bulletin | undefined {
  const text = notify.bulletins()("ai");
  return text === undefined ? undefined : readBulletin("ai", text);
}

test("a replica leaves what is wrong with itself for whoever tells people, where somebody is to be told", async () => {
  const silent = await opened(false);
  silent.start();
  expect([...silent.notify.records("a", false)]).toEqual([]);
  const world = await opened(true);
  expect([...world.notify.records("a", false)]).toEqual([]);
  world.start();
  const conditions = (): readonly Condition[] => conditionsOf("a", new Map(world.notify.records("a", false)));
  expect(conditions()).toEqual([]);
  world.status.successful = false;
  expect(conditions()).toMatchObject([{ kind: "config_refused" }]);
});

test("an incident is told in words for as long as it is open, and without them once it is over", async () => {
  const world = await opened(true);
  world.start();
  expect(bulletinOf(world)).toBeUndefined();
  const record = world.polling.recordOf("ai");
  const atMs = world.clock.wallNow();
  const poll = samplePoll({ sentAtMs: atMs, endedAtMs: atMs, outcome: outcomeOf("timeout") });
  record?.record({ kind: "polled", poll });
  record?.record({ kind: "judged", poll, watchedMs: 0 });
  record?.record({ kind: "health_changed", from: "unknown", to: "down", atMs });
  for (let beat = 0; beat < 2; beat += 1) {
    expect(bulletinOf(world)?.incidents).toMatchObject([{ state: "down", endedAtMs: undefined }]);
    expect(bulletinOf(world)?.words?.lines.length).toBeGreaterThan(0);
  }
  record?.record({ kind: "health_changed", from: "down", to: "up", atMs: atMs + 60_000 });
  expect(bulletinOf(world)?.incidents).toMatchObject([{ state: "down", endedAtMs: atMs + 60_000 }]);
  expect(bulletinOf(world)?.words).toBeUndefined();
});

test("a quota that will be used up within days is told, and one that lasts is not", async () => {
  for (const [usedAnHour, conditions] of [
    [1, undefined],
    [150, [expect.objectContaining({ kind: "credit_ending", of: "api/own", isNear: false })]],
  ] as const) {
    const world = await opened(true, usedAnHour);
    world.start();
    expect(bulletinOf(world)?.conditions).toEqual(conditions);
  }
});
