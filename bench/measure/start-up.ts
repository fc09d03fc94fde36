import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Form } from "../../tools/image-command.ts";
import { ratioOf, type Figure } from "../report/figure.ts";
import type { Stage } from "../stage.ts";
import { startShipped } from "./shipped.ts";

/** From the process's start to its first answer of /metrics, to what Node.js takes for nothing. */
export async function measureStartUp({ nginx, depth, progress }: Stage): Promise<readonly Figure[]> {
  progress(`start-up, ${depth.startUps} times`);
  const ours: number[] = [];
  const source: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < depth.startUps; round++) {
    ours.push(await startUpMs(nginx, "bundle"));
    source.push(await startUpMs(nginx, "source"));
    const bareMs = performance.now();
    await once(spawn(process.execPath, ["-e", ""], { stdio: "ignore" }), "exit");
    theirs.push(performance.now() - bareMs);
  }
  const says = "start-up to the first /metrics, to bare Node.js";
  return [
    ratioOf("start-up", says, "ms", { ours, theirs }),
    ratioOf("start-up-source", `${says}, from source`, "ms", { ours: source, theirs }),
  ];
}

async function startUpMs(nginx: Stage["nginx"], form: Form): Promise<number> {
  const startedMs = performance.now();
  await using pacewatch = await startShipped(nginx, form);
  await pacewatch.scrape();
  return performance.now() - startedMs;
}
