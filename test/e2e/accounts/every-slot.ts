import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import {
  openConfigFolder,
  rawUpstream,
  type RawConfig,
  type RawUpstream,
} from "../../support/config-folder.ts";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import type { Families } from "../../support/metrics/exposition-parser.ts";
import {
  accountOf,
  accountsOf,
  openAccounts,
  type SlotAccounts,
} from "../../support/metrics/slot-accounts.ts";

const CONSTANT = "constant";
const SLOW_PATH = "/v1/resources?slow";

function configsFor(url: string): readonly RawConfig[] {
  const budgets = {
    api: { rate: { requests: 60, per: "1s" } },
    other: {
      rate: [
        { requests: 40, per: "1s" },
        { requests: 500, per: "10s" },
      ],
    },
    // Just enough, so that some of its slots find no lease.
    tight: { rate: { requests: 3, per: "1s" }, share: "100%" },
  };
  const constant = rawUpstream(CONSTANT, url);
  const slow = rawUpstream("slow", url, { path: SLOW_PATH, timeout: "1500ms" });
  const tight = ["tight-1", "tight-2", "tight-3"].map((name) => rawUpstream(name, url, { budget: "tight" }));
  const steady = [constant, slow, ...tight];
  const variants: readonly (readonly RawUpstream[])[] = [
    steady,
    [...steady, rawUpstream("added-1", url), rawUpstream("added-2", url, { budget: "other" })],
    [rawUpstream("added-1", url, { every: "2s" }), ...steady.slice(0, -1)],
    [...steady, rawUpstream("added-2", url, { connection: "reuse", confirm: 2, timeout: "400ms" })],
    [constant, rawUpstream("slow", url, { path: SLOW_PATH, timeout: "1400ms", budget: "other" }), ...tight],
  ];
  return variants.map((upstreams) => ({ web: { enable_lifecycle: true }, budgets, upstreams }));
}

function namesOf(config: RawConfig): string {
  return config.upstreams
    .map(({ name }) => name)
    .toSorted()
    .join();
}

function isPartOf(names: string, config: RawConfig): boolean {
  const all = new Set(config.upstreams.map(({ name }) => name));
  return names.split(",").every((name) => all.has(name));
}

/** Nobody listens there, or the last to do so left before the question was answered. */
function isGone(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ECONNREFUSED" || code === "ECONNRESET";
}

/** Until nobody answers any more. */
async function scrapeToTheEnd(daemon: Daemon, pauseMs: number): Promise<readonly Families[]> {
  const scrapes: Families[] = [];
  for (;;) {
    try {
      scrapes.push(await daemon.metrics());
      await sleep(pauseMs);
    } catch (error) {
      if (isGone(error)) return scrapes;
      throw error;
    }
  }
}

async function reloadOverAndOver(
  daemon: Daemon,
  reloads: number,
  configs: readonly RawConfig[],
  write: (config: RawConfig) => Promise<void>,
): Promise<void> {
  const asks = [
    // Where the machine is so busy that the answer takes longer than half a minute, it is cut off; the reload goes on.
    async () => expect((await daemon.post("/-/reload").catch(() => undefined))?.status ?? 200).toBe(200),
    async () => daemon.kill("SIGHUP"),
    // The watch on the file notices by itself.
    async () => {},
  ];
  for (let turn = 1; turn <= reloads; turn += 1) {
    const config = configs[turn % configs.length];
    if (config === undefined) throw new Error("no config");
    const before = reloadsOf(daemon);
    await write(config);
    await asks[turn % asks.length]?.();
    await eventually(
      `config ${turn} is in use`,
      async () => ({ reloads: reloadsOf(daemon), names: shownIn(await daemon.metrics()) }),
      (seen) => seen.reloads > before && seen.names === namesOf(config),
    );
    // Some slots are decided under each config.
    await sleep(200);
  }
}

function reloadsOf({ logs }: Daemon): number {
  return logs.filter(({ msg }) => msg === "config reloaded").length;
}

function shownIn(families: Families): string {
  return accountsOf(families)
    .map(({ upstream }) => upstream)
    .toSorted()
    .join();
}

/** At every scrape, while upstreams come, change and go, and until the very end. */
export async function slotsUnaccountedFor(reloads: number): Promise<readonly SlotAccounts[]> {
  await using upstream = await startSimulatedUpstream({
    name: "api",
    latency: { minMs: 0, maxMs: 400 },
    script: {
      periodMs: 1_500,
      entries: [
        { fromMs: 0, untilMs: 300, fault: { kind: "reset", at: "before_head" }, words: "resets" },
        { fromMs: 500, untilMs: 700, fault: { kind: "status", code: 500 }, words: "answers 500" },
        { fromMs: 900, untilMs: 1_000, fault: { kind: "hang", at: "mid_body" }, words: "hangs" },
        {
          fromMs: 1_200,
          untilMs: 1_230,
          fault: { kind: "status", code: 503, headers: { "Retry-After": "1" } },
          words: "asks for silence",
        },
      ],
    },
  });
  const configs = configsFor(upstream.url);
  await using folder = await openConfigFolder(configs[0] ?? "");
  await using daemon = await startDaemon({ configPath: folder.path });

  const scraping = scrapeToTheEnd(daemon, 50);
  await reloadOverAndOver(daemon, reloads, configs, (config) => folder.write(config));
  // On the way down one poll is in flight for as long as its timeout lets it.
  upstream.setFault({ kind: "hang", at: "before_head" });
  const seenBefore = upstream.seen.length;
  await eventually("the slow upstream is polled", () =>
    upstream.seen.slice(seenBefore).some(({ target }) => target === SLOW_PATH),
  );
  const stoppedAtMs = performance.now();
  daemon.kill("SIGTERM");
  await daemon.logged("stopping: waiting for polls in flight");
  const downward = await scrapeToTheEnd(daemon, 0);
  const scrapes = await scraping;
  expect(await daemon.exited).toEqual({ code: 0, signal: null });

  const reloaded = reloadsOf(daemon);
  const drainMs = performance.now() - stoppedAtMs;
  process.stdout.write(
    `accounts: ${scrapes.length} scrapes over ${reloaded} reloads, ${downward.length} within ${drainMs.toFixed(0)} ms on the way down\n`,
  );
  expect(daemon.logs.filter(({ level }) => level === "error")).toEqual([]);
  expect(reloaded).toBeGreaterThanOrEqual(reloads);
  expect(scrapes.length).toBeGreaterThan(3 * reloads);
  expect(downward.length).toBeGreaterThan(3);

  const shown = new Set(scrapes.map(shownIn));
  // The old config, without what a reload took away while it was being told, or the new one: never a bit of both.
  expect([...shown].filter((names) => !configs.some((config) => isPartOf(names, config)))).toEqual([]);
  expect(configs.map(namesOf).filter((names) => !shown.has(names))).toEqual([]);
  const constantSlots = scrapes.map((scrape) => accountOf(scrape, CONSTANT).slots);
  expect(constantSlots).toEqual(constantSlots.toSorted((a, b) => a - b));
  expect(constantSlots.at(-1)).toBeGreaterThan(3);
  return [...scrapes, ...downward].flatMap(openAccounts);
}
