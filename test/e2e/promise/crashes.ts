import { setTimeout as sleep } from "node:timers/promises";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import type { Limit } from "../../../src/simulator/meters.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { sumOfSamples } from "../../support/metrics/exposition-parser.ts";
import { startUpstreamProcess } from "../../support/processes/upstream-process.ts";

export const NAMES: readonly string[] = Array.from({ length: 20 }, (_, index) => `upstream-${index}`);

/** As bad as it gets: each life sends one request, and dies of it. */
export async function crashAtEachRequest(share: string, limit: Limit, lives: number): Promise<number> {
  const cap = (limit.requests * Number.parseInt(share, 10)) / 100;
  await using upstream = await startSimulatedUpstream({ name: "api", limits: [limit], dialect: "none" });
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

export type Counted = { readonly worst: number; readonly abandoned: number };

/** Its process stands still for 2.5 s; its kernel goes on accepting connections. */
export async function freezeWhilePolled(linger: string): Promise<Counted> {
  const limit = { requests: NAMES.length, perMs: 1_000 };
  await using upstream = await startUpstreamProcess({ name: "api", limits: [limit], dialect: "none" });
  await using folder = await openConfigFolder({
    budgets: { api: { rate: { requests: limit.requests, per: "1s" }, share: "100%", linger } },
    upstreams: NAMES.map((name) => rawUpstream(name, upstream.url, { timeout: "300ms" })),
  });
  await using daemon = await startDaemon({ configPath: folder.path });
  await eventually("it is polled", async () => (await upstream.report()).requests);

  upstream.freeze();
  await sleep(2_500);
  const abandoned = sumOfSamples(await daemon.metrics(), "pacewatch_polls_total", { reason: "timeout" });
  upstream.thaw();
  const { worst } = await upstream.report();
  // Whatever waited in its kernel is read and counted now.
  await sleep(500);
  return { worst: Math.max(worst, (await upstream.report()).worst), abandoned };
}
