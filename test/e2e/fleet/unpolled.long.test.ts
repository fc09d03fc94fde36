import { expect, test } from "vitest";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleValue } from "../../support/metrics/exposition-parser.ts";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { REDIS_SERVER, RedisServer } from "../../support/processes/redis-server.ts";

const NAMES = ["email", "router"];

type Told = {
  readonly name: string;
  readonly holder?: string;
  readonly views: readonly { readonly state: string }[];
};

async function toldBy(daemon: Daemon): Promise<readonly Told[]> {
  const { upstreams } = JSON.parse((await daemon.get("/api/v1/fleet")).body) as { upstreams: Told[] };
  return upstreams;
}

test.skipIf(REDIS_SERVER === undefined)(
  "what nobody polls is unknown on every replica's page after three slots, and whoever holds it next counts them",
  async () => {
    await using stack = new AsyncDisposableStack();
    const redis = stack.use(await RedisServer.start());
    const upstream = stack.use(await startSimulatedUpstream({ name: "api" }));
    const daemons = new Map<string, Daemon>();
    for (const name of ["a", "b"]) {
      const folder = stack.use(
        await openConfigFolder({
          budgets: Object.fromEntries(
            NAMES.map((budget) => [budget, { rate: { requests: 200, per: "1s" }, share: "50%" }]),
          ),
          fleet: {
            redis: { url: `redis://127.0.0.1:${redis.port}` },
            name,
            mode: "shard",
            replicas: 2,
            ttl: "6s",
          },
          upstreams: NAMES.map((each) => ({ ...rawUpstream(each, upstream.url), budget: each })),
        }),
      );
      daemons.set(name, stack.use(await startDaemon({ configPath: folder.path })));
    }
    const [a, b] = [daemons.get("a"), daemons.get("b")];
    if (a === undefined || b === undefined) throw new Error("both began");
    const isWell = (told: readonly Told[]): boolean =>
      new Set(told.map(({ holder }) => holder)).size === 2 &&
      told.every(({ holder, views: [view] }) => holder !== undefined && view?.state === "up");
    const told = await eventually("each holds one, and both are up", () => toldBy(a), isWell);
    const lost = told.find(({ holder }) => holder === "b")?.name ?? "";
    expect((await a.get("/")).body).toContain("Both upstreams are up");

    b.kill("SIGSTOP");
    const unpolled = await eventually(
      "the other one says that it does not know",
      async () => (await toldBy(a)).find(({ name }) => name === lost),
      (each) => each?.views[0]?.state === "unknown",
    );
    // Three slots of a second passed, and its session has not ended yet.
    expect(unpolled?.holder).toBe("b");
    expect((await a.get("/")).body).not.toContain("Both upstreams are up");

    const families = await eventually(
      "the other one polls it",
      () => a.metrics(),
      (seen) => (sampleValue(seen, "pacewatch_polls_total", { upstream: lost, outcome: "ok" }) ?? 0) > 0,
    );
    const missed = sampleValue(families, "pacewatch_polls_skipped_total", {
      upstream: lost,
      cause: "missed",
    });
    expect(missed).toBeGreaterThanOrEqual(3);
    expect(missed).toBeLessThanOrEqual(12);
    b.kill("SIGCONT");
  },
);
