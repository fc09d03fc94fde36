import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type SimulatedUpstream, startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { type ConfigFolder, openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { type Daemon, nextSlotAtMs, startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { sumOfSamples, type Families } from "../../support/metrics/exposition-parser.ts";
import { openAccounts } from "../../support/metrics/slot-accounts.ts";
import { openWallClock, requireFakeTime } from "../../support/processes/wall-clock.ts";
import { silent } from "../../support/silent.ts";

const NAMES = ["email", "router", "search"];
const LIMIT = { requests: 6, perMs: 1_000 };
const library = requireFakeTime();

async function folderFor(upstream: SimulatedUpstream): Promise<ConfigFolder> {
  return openConfigFolder({
    budgets: { api: { rate: { requests: LIMIT.requests, per: "1s" }, share: "50%" } },
    upstreams: NAMES.map((name) => rawUpstream(name, upstream.url, { path: `/v1/resources?${name}` })),
  });
}

/** When each of them was asked, by the upstream's clock, which nobody touches. */
function momentsOf(upstream: SimulatedUpstream, name: string): readonly number[] {
  return upstream.seen.filter(({ target }) => target.endsWith(name)).map(({ atMs }) => atMs);
}

function gapsOf(moments: readonly number[]): readonly number[] {
  return moments.slice(1).map((moment, index) => moment - (moments[index] ?? 0));
}

function mostWithin(moments: readonly number[], windowMs: number): number {
  return Math.max(...moments.map((end) => moments.filter((at) => at <= end && at > end - windowMs).length));
}

function missed(families: Families, upstream: string): number {
  return sumOfSamples(families, "pacewatch_polls_skipped_total", { upstream, cause: "missed" });
}

async function allPolled(daemon: Daemon): Promise<void> {
  await eventually(
    "each upstream is polled twice",
    async () => {
      const families = await daemon.metrics();
      return NAMES.map((upstream) => sumOfSamples(families, "pacewatch_polls_total", { upstream }));
    },
    (polls) => polls.every((count) => count > 1),
  );
}

describe.concurrent("the clocks of the machine", () => {
  it.skipIf(library === undefined)(
    "may step an hour back and a day ahead: the polls go on, few slots are missed, and nothing comes bunched",
    async () => {
      await using clock = await openWallClock(library ?? "");
      await using upstream = await startSimulatedUpstream({
        name: "api",
        limits: [LIMIT],
        dialect: silent,
      });
      await using folder = await folderFor(upstream);
      await using daemon = await startDaemon({ configPath: folder.path, environment: clock.environment });
      await allPolled(daemon);
      const stretchMs = 4_000;
      await sleep(500);
      await clock.setOffset(-3_600);
      await sleep(stretchMs);
      const setBackMs = await nextSlotAtMs(daemon, "email");
      await clock.setOffset(86_400);
      await sleep(stretchMs);
      const families = await daemon.metrics();
      const setAheadMs = await nextSlotAtMs(daemon, "email");

      // The clock was really stepped: a day and an hour lie between the two.
      expect(setAheadMs - setBackMs).toBeGreaterThan(86_400_000 + 3_500_000);
      for (const name of NAMES) {
        const moments = momentsOf(upstream, name);
        const longestGapMs = Math.max(...gapsOf(moments));
        process.stdout.write(
          `clock: ${name} missed ${missed(families, name)}, longest gap ${longestGapMs.toFixed(0)} ms\n`,
        );
        expect(longestGapMs).toBeLessThan(stretchMs);
        expect(mostWithin(moments, 500)).toBeLessThanOrEqual(2);
        expect(missed(families, name)).toBeLessThanOrEqual(6);
      }
      expect(upstream.violations).toBe(0);
      expect(upstream.worstWindow()[0]?.requests).toBeLessThanOrEqual(LIMIT.requests);
      expect(openAccounts(families)).toEqual([]);
      daemon.kill("SIGTERM");
      expect((await daemon.exited).code).toBe(0);
    },
  );

  it.skipIf(library === undefined)(
    "may show 1970 at the start: once they are set, so is what is said of it, and a kill loses nothing of a quota",
    async () => {
      await using clock = await openWallClock(library ?? "");
      await using upstream = await startSimulatedUpstream({ name: "api", limits: [LIMIT], dialect: silent });
      const quota = { requests: 1_000, per: "30d", on_exhaust: "stop" };
      await using folder = await openConfigFolder({
        state: { path: "pacewatch.db" },
        budgets: { api: { rate: { requests: LIMIT.requests, per: "1s" }, share: "50%", quota } },
        upstreams: NAMES.map((name) =>
          rawUpstream(name, upstream.url, { path: `/v1/resources?${name}`, every: "1m" }),
        ),
      });
      await clock.setOffset(100 - Math.floor(Date.now() / 1_000));
      {
        await using daemon = await startDaemon({ configPath: folder.path, environment: clock.environment });
        const polled = async (): Promise<readonly number[]> => {
          const families = await daemon.metrics();
          return NAMES.map((name) => sumOfSamples(families, "pacewatch_polls_total", { upstream: name }));
        };
        await eventually("each is polled", polled, (polls) => polls.every((count) => count > 0));
        const startedS = async (): Promise<number> =>
          sumOfSamples(await daemon.metrics(), "process_start_time_seconds", {});
        expect(await startedS()).toBeLessThan(200);
        await clock.setOffset(0);
        expect(Date.now() / 1_000 - (await startedS())).toBeLessThan(3_600);
        expect((await daemon.get("/")).body).toContain(
          `running since ${new Date((await startedS()) * 1_000).toISOString().slice(0, 10)}`,
        );
        daemon.kill("SIGKILL");
        await daemon.exited;
      }
      const before = upstream.requests;
      expect(before).toBeGreaterThanOrEqual(NAMES.length);
      await using daemon = await startDaemon({ configPath: folder.path, environment: clock.environment });
      const used = sumOfSamples(await daemon.metrics(), "pacewatch_budget_quota_used_requests", {});
      expect(used).toBeGreaterThanOrEqual(before);
      expect(used).toBeLessThanOrEqual(upstream.requests + NAMES.length);
    },
  );

  it("go on while the process is stopped: its slots are counted as missed, and nothing is made up for", async () => {
    await using upstream = await startSimulatedUpstream({
      name: "api",
      limits: [LIMIT],
      dialect: silent,
    });
    await using folder = await folderFor(upstream);
    await using daemon = await startDaemon({ configPath: folder.path });
    await allPolled(daemon);
    const stoppedMs = 6_000;
    daemon.kill("SIGSTOP");
    await sleep(stoppedMs);
    const before = upstream.requests;
    daemon.kill("SIGCONT");
    // Two more polls of each: by then the gap is counted.
    const wantedOfEach = NAMES.map((name) => momentsOf(upstream, name).length + 2);
    await eventually(
      "each upstream is polled twice more",
      () => NAMES.map((name) => momentsOf(upstream, name).length),
      (polls) => polls.every((count, index) => count >= (wantedOfEach[index] ?? 0)),
    );
    const families = await daemon.metrics();
    for (const name of NAMES) {
      process.stdout.write(`stopped for 6 s: ${name} missed ${missed(families, name)}\n`);
      expect(missed(families, name)).toBeGreaterThanOrEqual(stoppedMs / 1_000 - 2);
      expect(missed(families, name)).toBeLessThanOrEqual(stoppedMs / 1_000 + 2);
      expect(mostWithin(momentsOf(upstream, name), 500)).toBeLessThanOrEqual(2);
    }
    expect(upstream.requests - before).toBeLessThan(4 * NAMES.length);
    expect(upstream.violations).toBe(0);
    expect(openAccounts(families)).toEqual([]);
  });
});
