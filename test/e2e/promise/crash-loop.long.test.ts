import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../../support/config-folder.ts";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { openAccounts } from "../../support/metrics/slot-accounts.ts";
import { silent } from "../../support/silent.ts";
import { crashAtEachRequest, freezeWhilePolled, NAMES } from "./crashes.ts";

/** The promise of docs/promise.md, and its end, as the upstream's own clock sees them. */

type Life =
  /** Killed so long after its start, before it may send anything: its predecessor is not forgotten yet. */
  | { readonly killedAfterStartMs: number }
  /** Killed so long after its first request. */
  | { readonly killedAfterSendingMs: number; readonly isReloaded?: boolean };

const LIVES: readonly Life[] = [
  { killedAfterSendingMs: 5_500, isReloaded: true },
  { killedAfterStartMs: 400 },
  { killedAfterSendingMs: 1_500 },
  { killedAfterStartMs: 800 },
  { killedAfterStartMs: 2_000 },
  { killedAfterStartMs: 0 },
];
const LAST_LIFE_MS = 5_500;

async function crashOverAndOver(): Promise<{ readonly worst: number; readonly usedPart: number }> {
  const limit = { requests: 20, perMs: 4_000 };
  await using upstream = await startSimulatedUpstream({
    name: "api",
    limits: [limit],
    dialect: silent,
    latency: { minMs: 0, maxMs: 900 },
  });
  const configOf = (names: readonly string[]): RawConfig => ({
    budgets: { api: { rate: { requests: limit.requests, per: "4s" }, share: "100%" } },
    upstreams: names.map((name) => rawUpstream(name, upstream.url, { every: "4s", timeout: "2s" })),
  });
  await using folder = await openConfigFolder(configOf(NAMES));
  /** What was sent, and what the limit would have let through meanwhile. */
  const used = { sent: 0, possible: 0 };

  async function live(daemon: Daemon, forMs: number, isReloaded: boolean): Promise<void> {
    const before = upstream.requests;
    await eventually(
      "it sends a request",
      () => upstream.requests,
      (requests) => requests > before,
    );
    const fromMs = performance.now();
    if (isReloaded) {
      await sleep(forMs / 2);
      await folder.write(configOf([...NAMES.slice(1), "upstream-new"]));
      daemon.kill("SIGHUP");
      await daemon.logged("config reloaded");
    }
    await sleep(Math.max(0, fromMs + forMs - performance.now()));
    // The first one began the time that is measured: it is not one that the time allowed.
    used.sent += upstream.requests - before - 1;
    used.possible += (limit.requests * (performance.now() - fromMs)) / limit.perMs;
  }

  for (const life of LIVES) {
    const daemon = await startDaemon({ configPath: folder.path });
    if ("killedAfterStartMs" in life) await sleep(life.killedAfterStartMs);
    else await live(daemon, life.killedAfterSendingMs, life.isReloaded ?? false);
    daemon.kill("SIGKILL");
    expect(await daemon.exited).toEqual({ code: null, signal: "SIGKILL" });
  }
  await using last = await startDaemon({ configPath: folder.path });
  await live(last, LAST_LIFE_MS, false);
  expect(openAccounts(await last.metrics())).toEqual([]);
  last.kill("SIGTERM");
  expect((await last.exited).code).toBe(0);

  expect(upstream.violations).toBe(0);
  return { worst: upstream.worstWindow()[0]?.requests ?? 0, usedPart: used.sent / used.possible };
}

describe.concurrent("by its own clock an upstream", () => {
  it("never counts one request too many from twenty upstreams that use its whole limit, through six crashes and a reload", async () => {
    const { worst, usedPart } = await crashOverAndOver();
    process.stdout.write(
      `crash loop: at most ${worst} of 20 in any 4 s, ${(usedPart * 100).toFixed(0)}% used while it ran\n`,
    );
    expect(worst).toBeLessThanOrEqual(20);
    expect(usedPart).toBeGreaterThan(0.5);
  }, 120_000);

  it.each([
    { share: "100%", limit: { requests: 4, perMs: 4_000 }, lives: 6 },
    // A new life waits for one pace gap only, as its predecessors' requests and its own fit the limit.
    { share: "50%", limit: { requests: 4, perMs: 2_000 }, lives: 5 },
  ])(
    "never counts one too many from a program that crashes at each request, with a share of $share",
    async ({ share, limit, lives }) => {
      const worst = await crashAtEachRequest(share, limit, lives);
      expect(worst).toBeGreaterThan(0);
      expect(worst).toBeLessThanOrEqual(limit.requests);
    },
    120_000,
  );

  it("that stood still for longer than timeout and linger counts all that was given up on at once: more than its limit", async () => {
    const { worst, abandoned } = await freezeWhilePolled("0s", 2 * NAMES.length);
    process.stdout.write(`stood still: ${abandoned} given up on, ${worst} of 20 counted in one window\n`);
    expect(abandoned).toBeGreaterThan(NAMES.length);
    expect(worst).toBeGreaterThan(NAMES.length);
  });
});
