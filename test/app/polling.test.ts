import { expect, test } from "vitest";
import { NameResolver } from "../../src/adapters/dns/name-resolver.ts";
import { KnownKeys } from "../../src/adapters/secrets/known-keys.ts";
import { AppPolling } from "../../src/app/polling.ts";
import { LocalLedger } from "../../src/core/budget/local-ledger.ts";
import type { RestoredUpstream, StateStore } from "../../src/core/history/state.ts";
import { sampleConfig, samplePoll, sampleUpstream } from "../support/samples.ts";
import { VirtualClock } from "../support/virtual/clock.ts";

const HOUR_MS = 3_600_000;
const mute = (): void => {};

function opened(): { readonly polling: AppPolling; readonly clock: VirtualClock } {
  const clock = new VirtualClock();
  const config = sampleConfig({ upstreams: [sampleUpstream({ name: "ai" })] });
  const point = { atMs: clock.wallNow(), value: 500, refilled: 0, name: "credits" };
  const restored = new Map<string, RestoredUpstream>([
    ["ai", { polls: [], failures: [], incidents: [], evidence: [], minutes: [], hours: [], values: [point] }],
  ]);
  const store: Pick<StateStore, "restored" | "recorderOf"> = {
    restored: (name) => {
      const once = restored.get(name);
      restored.delete(name);
      return once;
    },
    recorderOf: () => ({ record: mute }),
  };
  const polling = new AppPolling(config, {
    environment: {},
    keys: new KnownKeys([]),
    clock,
    names: new NameResolver({ clock }),
    log: { level: "info", debug: mute, info: mute, warn: mute, error: mute },
    ledger: new LocalLedger(config, clock),
    store,
    holdings: { has: () => true },
    stopping: new AbortController().signal,
    onBug: (bug) => {
      throw bug;
    },
  });
  return { polling, clock };
}

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
    polling.lose(["ai"]);
    await clock.advance(1);
    expect(polling.recordOf("ai")).toBeUndefined();
  }
  await polling.gain([{ upstream: "ai", unheldMs: undefined, view: undefined }]);
  await clock.advance(1);
  see(200);
  const points = polling.recordOf("ai")?.history.values.points("credits") ?? [];
  expect(points[0]).toMatchObject({ value: 500 });
  expect(points.length).toBeGreaterThanOrEqual(9);
  polling.lose(["ai"]);
});
