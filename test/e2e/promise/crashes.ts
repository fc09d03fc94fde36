import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import type { Limit } from "../../../src/simulator/meters.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { sumOfSamples } from "../../support/metrics/exposition-parser.ts";
import { startUpstreamProcess, type UpstreamReport } from "../../support/processes/upstream-process.ts";
import { silent } from "../../support/silent.ts";

export const NAMES: readonly string[] = Array.from({ length: 20 }, (_, index) => `upstream-${index}`);

/** As bad as it gets: each life sends one request, and dies of it. */
export async function crashAtEachRequest(share: string, limit: Limit, lives: number): Promise<number> {
  const cap = (limit.requests * Number.parseInt(share, 10)) / 100;
  await using upstream = await startSimulatedUpstream({ name: "api", limits: [limit], dialect: silent });
  await using folder = await openConfigFolder({
    budgets: { api: { rate: { requests: limit.requests, per: `${limit.perMs}ms` }, share } },
    upstreams: NAMES.slice(0, cap).map((name) =>
      rawUpstream(name, upstream.url, { every: "4s", timeout: "500ms" }),
    ),
  });
  for (let life = 1; life <= lives; life += 1) {
    await using daemon = await startDaemon({ configPath: folder.path });
    await eventually(
      `life ${life} sends its request`,
      () => upstream.requests,
      (requests) => requests >= life,
    );
    daemon.kill("SIGKILL");
    await daemon.exited;
  }
  return upstream.worstWindow()[0]?.requests ?? 0;
}

export type Counted = {
  readonly worst: number;
  readonly abandoned: number;
  /** The upstream, at most; on a machine with much to do that may be longer than what it was to show. */
  readonly stoodStillMs: number;
};

/** Its process stands still until so many polls are given up on; its kernel goes on accepting connections. */
export async function freezeWhilePolled(linger: string, untilAbandoned: number): Promise<Counted> {
  const limit = { requests: NAMES.length, perMs: 1_000 };
  await using upstream = await startUpstreamProcess({ name: "api", limits: [limit] });
  await using folder = await openConfigFolder({
    budgets: { api: { rate: { requests: limit.requests, per: "1s" }, share: "100%", linger } },
    upstreams: NAMES.map((name) => rawUpstream(name, upstream.url, { timeout: "300ms" })),
  });
  await using daemon = await startDaemon({ configPath: folder.path });
  const { requests: requestsBefore } = await eventually(
    "it is polled",
    () => upstream.report(),
    ({ requests }) => requests > 0,
  );
  const givenUp = async (): Promise<number> =>
    sumOfSamples(await daemon.metrics(), "pacewatch_poll_reasons_total", { reason: "timeout" });
  const abandonedBefore = await givenUp();

  const frozenAtMs = performance.now();
  upstream.freeze();
  const abandoned = await eventually("polls are given up", givenUp, (polls) => polls >= untilAbandoned);
  upstream.thaw();
  // Whatever waited in its kernel is read and counted now, but it may have answered its parent before that.
  const reports: UpstreamReport[] = [];
  await eventually("it counts no more", async () => {
    reports.push(await upstream.report());
    const [before, last] = reports.slice(-2).map(({ requests }) => requests);
    return (
      last !== undefined && last >= requestsBefore + (abandoned - abandonedBefore) / 2 && before === last
    );
  });
  const stoodStillMs = performance.now() - frozenAtMs;
  return { worst: Math.max(...reports.map(({ worst }) => worst)), abandoned, stoodStillMs };
}
