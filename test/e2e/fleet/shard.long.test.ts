import { expect, test } from "vitest";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../../support/config-folder.ts";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleValue, type Families } from "../../support/metrics/exposition-parser.ts";
import { REDIS_SERVER, RedisServer } from "../../support/processes/redis-server.ts";
import { accountsOf, openAccounts } from "../../support/metrics/slot-accounts.ts";

const NAMES = Array.from({ length: 12 }, (_, index) => `upstream-${index}`);

function configOf(upstreamUrl: string, port: number, name: string, changes: object = {}): RawConfig {
  return {
    // One for each: upstreams of one budget are held together, by one replica.
    budgets: Object.fromEntries(
      NAMES.map((budget) => [budget, { rate: { requests: 200, per: "1s" }, share: "50%" }]),
    ),
    fleet: {
      redis: { url: `redis://127.0.0.1:${port}` },
      name,
      mode: "shard",
      replicas: 3,
      ttl: "5s",
      ...changes,
    },
    upstreams: NAMES.map((upstream) => ({ ...rawUpstream(upstream, upstreamUrl), budget: upstream })),
  };
}

type Told = {
  readonly replicas: readonly { readonly name: string; readonly url: string; readonly held: number }[];
  readonly upstreams: readonly {
    readonly name: string;
    readonly holder?: string;
    readonly views: readonly { readonly vantage: string; readonly state: string }[];
  }[];
};

async function fleetAt(daemon: Daemon): Promise<Told> {
  return JSON.parse((await daemon.get("/api/v1/fleet")).body) as Told;
}

/** By their names; one Redis and one upstream for all. */
async function startReplicas(
  stack: AsyncDisposableStack,
  names: readonly string[],
  changes: object = {},
): Promise<Map<string, Daemon>> {
  const redis = stack.use(await RedisServer.start());
  const upstream = stack.use(await startSimulatedUpstream({ name: "api" }));
  const daemons = new Map<string, Daemon>();
  for (const name of names) {
    const folder = stack.use(await openConfigFolder(configOf(upstream.url, redis.port, name, changes)));
    daemons.set(name, stack.use(await startDaemon({ configPath: folder.path })));
  }
  return daemons;
}

function areAllHeld(holders: ReadonlyMap<string, string>): boolean {
  return holders.size === NAMES.length;
}

/** Whose metrics show it; each upstream is shown by one at most, but for one that moves while they are read. */
async function holdersBy(daemons: ReadonlyMap<string, Daemon>): Promise<ReadonlyMap<string, string>> {
  const holders = new Map<string, string>();
  for (const [name, daemon] of daemons) {
    const families: Families = await daemon.metrics();
    expect(openAccounts(families)).toEqual([]);
    for (const { upstream } of accountsOf(families)) {
      const other = daemons.get(holders.get(upstream) ?? "");
      const still = other === undefined ? [] : accountsOf(await other.metrics());
      expect(
        still.map((account) => account.upstream),
        `${upstream} is polled twice`,
      ).not.toContain(upstream);
      holders.set(upstream, name);
    }
  }
  return holders;
}

test
  .skipIf(REDIS_SERVER === undefined)
  .concurrent(
    "three processes share the upstreams; one that is killed or stands still is replaced, one that stops in order at once",
    { timeout: 120_000 },
    async () => {
      await using stack = new AsyncDisposableStack();
      const daemons = await startReplicas(stack, ["a", "b", "c"]);
      // One that is there later takes its share of what the others took at first.
      const shared = await eventually(
        "each holds four upstreams",
        () => holdersBy(daemons),
        (holders) =>
          [...daemons.keys()].every(
            (name) => [...holders.values()].filter((holder) => holder === name).length === 4,
          ),
      );

      // Any of them tells of all, and how the others see what they poll.
      const [first, second, third] = daemons.values();
      if (first === undefined || second === undefined || third === undefined) throw new Error("no daemon");
      // What the others hold, and see, is written down once a beat.
      const told = await eventually(
        "the fleet's page tells who holds what, and that all are up",
        () => fleetAt(first),
        ({ replicas, upstreams }) =>
          replicas.every(({ held }) => held === 4) &&
          upstreams.every(
            ({ name, holder, views }) => holder === shared.get(name) && views[0]?.state === "up",
          ),
      );
      expect(told.replicas.map(({ name, held }) => ({ name, held }))).toEqual(
        ["a", "b", "c"].map((name) => ({ name, held: 4 })),
      );
      const elsewhere = NAMES.find((name) => shared.get(name) === "b") ?? "";
      const page = (await first.get("/")).body;
      expect(page).toContain(`${second.url}/upstreams/${elsewhere}`);
      expect((await first.get(`/upstreams/${elsewhere}`)).body).toContain(`is polled by b`);

      first.kill("SIGKILL");
      await first.exited;
      daemons.delete("a");
      const after = await eventually("all are held again", () => holdersBy(daemons), areAllHeld);
      const stayed = [...shared].filter(([, holder]) => holder !== "a");
      for (const [name, holder] of stayed) expect(after.get(name)).toBe(holder);
      const families = [await second.metrics(), await third.metrics()];
      const missed = families.flatMap(accountsOf).filter(({ upstream: name }) => shared.get(name) === "a");
      // Since its last beat nobody polled: a slot each second, counted where it is polled now.
      expect(missed).toHaveLength(4);
      for (const { skipped } of missed) expect(skipped).toBeGreaterThanOrEqual(1);
      const shown = {
        pacewatch_fleet_replicas: 2,
        pacewatch_fleet_upstreams: NAMES.length,
        pacewatch_fleet_upstreams_held: 6,
        pacewatch_fleet_session_valid: 1,
        pacewatch_redis_up: 1,
      };
      for (const daemon of daemons.values()) {
        await eventually(
          "the metrics tell of two replicas",
          async () => {
            const metrics = await daemon.metrics();
            return Object.fromEntries(Object.keys(shown).map((name) => [name, sampleValue(metrics, name)]));
          },
          (seen) => JSON.stringify(seen) === JSON.stringify(shown),
        );
      }

      // A process that stands still is replaced; when it goes on, it polls nothing that is not its own again.
      second.kill("SIGSTOP");
      const alone = new Map([["c", third]]);
      await eventually("the last one holds all", () => holdersBy(alone), areAllHeld);
      second.kill("SIGCONT");
      await eventually(
        "both hold six",
        () => holdersBy(daemons),
        (holders) => {
          const counts = Map.groupBy(holders.values(), (name) => name);
          return counts.get("b")?.length === 6 && counts.get("c")?.length === 6;
        },
      );

      second.kill("SIGTERM");
      expect((await second.exited).code).toBe(0);
      daemons.delete("b");
      await eventually("the last one holds all", () => holdersBy(daemons), areAllHeld);
    },
  );

test
  .skipIf(REDIS_SERVER === undefined)
  .concurrent(
    "from everywhere, every replica polls all, and each series says from where",
    { timeout: 60_000 },
    async () => {
      await using stack = new AsyncDisposableStack();
      const daemons = await startReplicas(stack, ["a", "b"], { mode: "everywhere", replicas: 2 });
      for (const [vantage, daemon] of daemons) {
        await eventually(
          `"${vantage}" polls all`,
          async () => {
            const families = await daemon.metrics();
            return NAMES.map((name) =>
              sampleValue(families, "pacewatch_polls_total", { upstream: name, vantage, outcome: "ok" }),
            );
          },
          (polls) => polls.every((count = 0) => count > 0),
        );
      }
      const first = daemons.get("a");
      if (first === undefined) throw new Error("no daemon");
      await eventually(
        "both tell that all are up",
        () => fleetAt(first),
        ({ upstreams }) =>
          upstreams.every(({ views }) => views.length === 2 && views.every(({ state }) => state === "up")),
      );
      expect((await first.get("/")).body).toContain("2 of 2");
    },
  );
