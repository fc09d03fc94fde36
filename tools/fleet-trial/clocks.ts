import { setTimeout as sleep } from "node:timers/promises";
import { sumOfSamples } from "../../test/support/metrics/exposition-parser.ts";
import type { Fleet } from "../../test/support/fleet/fleet.ts";
import { limitFaults } from "../../test/support/fleet/limit-judge.ts";
import { monotonicMs } from "../../test/support/fleet/monotonic.ts";
import { openScene, type Scene } from "../../test/support/fleet/scene.ts";
import { openWallClock, requireFakeTime } from "../../test/support/processes/wall-clock.ts";
import { say } from "./say.ts";

const REPLICAS = ["r1", "r2", "r3"] as const;
const [STEPPED] = REPLICAS;
const ALLOWED = { requests: 40, perMs: 10_000 };
const TTL_MS = 10_000;
const PERIOD_MS = 2_000;
/** Until its next beat, then a pace gap, the time between two polls, and this machine's other work. */
const MOST_SILENT_MS = TTL_MS / 5 + 2_000 + PERIOD_MS + 2_000;

const SCENE: Scene = {
  mode: "shard",
  replicas: REPLICAS,
  ttlMs: TTL_MS,
  periodMs: PERIOD_MS,
  windowMs: ALLOWED.perMs,
  timeoutMs: 2_000,
  lingerMs: 1_000,
  isScraped: true,
  budgets: Object.fromEntries(
    ["email", "router", "search"].map((name) => [
      name,
      {
        requests: ALLOWED.requests,
        share: "67%",
        upstreams: [1, 2, 3, 4].map((index) => `${name}-${index}`),
      },
    ]),
  ),
};

/** The wall clock of one replica is stepped: no upstream may count one request too many, or be called down. */
export async function tellClocks(): Promise<readonly string[]> {
  const library = requireFakeTime();
  if (library === undefined) return [];
  await using clock = await openWallClock(library);
  await using fleet = await openScene(SCENE, { clocks: new Map([[STEPPED, clock]]) });
  say("clocks: three replicas, and the wall clock of one of them is stepped");
  await fleet.settled();
  await fleet.allPolled();
  const faults: string[] = [];
  const silent = async (what: string, happen: () => Promise<void>): Promise<void> => {
    const fromMs = monotonicMs();
    await happen();
    await sleep(2 * TTL_MS);
    const ms = await longestSilence(fleet, fromMs);
    say(`${what}: longest silence of an upstream ${(ms / 1_000).toFixed(1)} s`);
    if (ms > MOST_SILENT_MS) faults.push(`${what}: an upstream was silent for ${ms} ms`);
  };
  await silent("one replica's wall clock is set 40 s ahead, seven times", async () => {
    for (let step = 1; step <= 7; step += 1) {
      await clock.setOffset(40 * step);
      await sleep(TTL_MS / 2);
    }
  });
  const ahead = sumOfSamples(fleet.replica(STEPPED).families, "pacewatch_fleet_clock_ahead_seconds", {});
  say(`  it says that it is ${ahead.toFixed(1)} s ahead of the others`);
  if (Math.abs(ahead - 280) > 5) faults.push(`its clock is 280 s ahead, and it says ${ahead} s`);
  await silent("and is set back again", () => clock.setOffset(0));
  for (const { life, families } of fleet.lives) {
    const failed = sumOfSamples(families, "pacewatch_polls_total", { outcome: "failed" });
    if (failed > 0) faults.push(`${life} counted ${failed} failed polls of upstreams that answered each`);
  }
  faults.push(...limitFaults(await fleet.seen(), ALLOWED));
  for (const fault of faults) say(`VIOLATION: ${fault}`);
  return faults;
}

async function longestSilence(fleet: Fleet, fromMs: number): Promise<number> {
  const recent = (await fleet.seen()).filter(({ atMs }) => atMs > fromMs);
  return Math.max(
    ...fleet.upstreams.flatMap((upstream) => {
      const moments = recent.filter((request) => request.upstream === upstream).map(({ atMs }) => atMs);
      return [...moments, monotonicMs()].map((atMs, index) => atMs - (moments[index - 1] ?? fromMs));
    }),
  );
}
