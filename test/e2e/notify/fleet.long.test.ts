import { expect, test } from "vitest";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { Receiving } from "../../support/notify/receiving.ts";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { REDIS_SERVER, RedisServer } from "../../support/processes/redis-server.ts";

const NAMES = Array.from({ length: 9 }, (_, index) => `upstream-${index}`);

type Told = {
  readonly event: string;
  readonly incident: string;
  readonly count: number;
  readonly of: number;
  readonly text: string;
};

async function hasTold(daemon: Daemon): Promise<boolean> {
  return / [1-9]/.test(
    (await daemon.get("/metrics")).body.match(/notifications_total\{[^}]*"delivered"\}.*/)?.[0] ?? "",
  );
}

test.skipIf(REDIS_SERVER === undefined).each(["shard", "everywhere"])(
  "in a fleet in %s over Redis one replica tells, in one message; after its death another one, with the same id",
  { timeout: 180_000 },
  async (mode) => {
    await using stack = new AsyncDisposableStack();
    const redis = stack.use(await RedisServer.start());
    const upstream = stack.use(await startSimulatedUpstream({ name: "api" }));
    const hook = stack.use(await Receiving.open());
    const told = (): readonly Told[] => hook.received.map(({ body }) => JSON.parse(body) as Told);
    const daemons: Daemon[] = [];
    for (const name of ["a", "b", "c"]) {
      const folder = stack.use(
        await openConfigFolder({
          web: { listen: "127.0.0.1:0" },
          budgets: Object.fromEntries(
            NAMES.map((budget) => [budget, { rate: { requests: 300, per: "1s" }, share: "50%" }]),
          ),
          fleet: { redis: { url: `redis://127.0.0.1:${redis.port}` }, name, mode, replicas: 3, ttl: "3s" },
          notify: [{ name: "hook", kind: "webhook", url: { env: "HOOK_URL" }, group_wait: "3s" }],
          upstreams: NAMES.map((each) => ({ ...rawUpstream(each, upstream.url), budget: each })),
        }),
      );
      daemons.push(
        stack.use(await startDaemon({ configPath: folder.path, environment: { HOOK_URL: hook.url } })),
      );
    }
    await eventually(
      "all are up, and polled by all three",
      async () => JSON.parse((await daemons[0]?.get("/api/v1/fleet"))?.body ?? "{}"),
      ({ upstreams, replicas }) =>
        upstreams.every(({ views }: { views: { state: string }[] }) => views[0]?.state === "up") &&
        replicas.length === 3 &&
        replicas.every(({ held }: { held: number }) => held > 0),
    );
    upstream.setFault({ kind: "status", code: 503, body: "maintenance until noon" });
    await hook.until(1);
    expect(told()[0]).toMatchObject({ event: "down", count: NAMES.length, of: NAMES.length });
    const teller = await eventually("one of them says that it told", async () => {
      const flags = await Promise.all(daemons.map((daemon) => hasTold(daemon)));
      expect(flags.filter(Boolean).length).toBeLessThan(2);
      return daemons.find((_, place) => flags[place]);
    });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    teller.kill("SIGKILL");
    await teller.exited;
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    expect(told().map(({ event }) => event)).toEqual(["down"]);
    upstream.setFault(undefined);
    await hook.until(2);
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect(told().map(({ event, count }) => `${event} ${count}`)).toEqual([
      `down ${NAMES.length}`,
      `up ${NAMES.length}`,
    ]);
    expect(told()[1]?.incident).toBe(told()[0]?.incident);
  },
);
