import { spawn } from "node:child_process";
import { once } from "node:events";
import { ratioOf, type Figure } from "../report/figure.ts";
import type { Stage } from "../stage.ts";
import { startShipped } from "./shipped.ts";

/** From the process's start to its first answer of /metrics, to what Node.js takes for nothing. */
export async function measureStartUp({ nginx, depth, progress }: Stage): Promise<readonly Figure[]> {
  progress(`start-up, ${depth.startUps} times`);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < depth.startUps; round++) {
    const startedMs = performance.now();
    await using pacewatch = await startShipped(nginx);
    await pacewatch.scrape();
    ours.push(performance.now() - startedMs);
    const bareMs = performance.now();
    await once(spawn(process.execPath, ["-e", ""], { stdio: "ignore" }), "exit");
    theirs.push(performance.now() - bareMs);
  }
  return [ratioOf("start-up", "start-up to the first /metrics, to bare Node.js", "ms", { ours, theirs })];
}
