import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { sampleValue } from "../../support/metrics/exposition-parser.ts";
import { REDIS_SERVER } from "../../support/processes/redis-server.ts";
import { openScene, type Scene } from "../../support/fleet/scene.ts";
import { judgeFleet } from "../../support/fleet/verdict.ts";

const SCENE: Scene = {
  replicas: ["a", "b"],
  ttlMs: 1_000,
  periodMs: 1_000,
  windowMs: 2_000,
  timeoutMs: 500,
  lingerMs: 0,
  isScraped: true,
  budgets: { api: { requests: 20, share: "40%", upstreams: ["email"] } },
};

test.skipIf(REDIS_SERVER === undefined)(
  "one of two processes polls; when it is killed the other one does, and the upstream counts no request too many",
  async () => {
    await using fleet = await openScene(SCENE);
    const first = await fleet.led();
    await fleet.allPolled();
    const standby = fleet.current.find((replica) => replica !== first);
    if (standby === undefined) throw new Error("nobody stands by");
    // It reads the lock several times a `ttl`, and may not have seen yet who has just won it.
    await eventually("it says who leads", async () =>
      (await standby.daemon.get("/")).body.includes(`Standing by. ${first.name} has led since`),
    );
    expect((await standby.daemon.get("/-/ready")).status).toBe(200);
    const metrics = await standby.daemon.metrics();
    expect(sampleValue(metrics, "pacewatch_leader")).toBe(0);
    expect(metrics.has("pacewatch_upstream_up")).toBe(false);
    expect((await standby.daemon.get("/api/v1/upstreams/email")).status).toBe(404);
    await first.kill();
    await eventually("the other one leads", () => standby.leads);
    await fleet.allPolled();
    await eventually("it says how the upstream is", async () =>
      (await standby.daemon.get("/")).body.includes("email is up"),
    );
    const { faults } = await judgeFleet(fleet, SCENE);
    expect(faults).toEqual([]);
  },
);
