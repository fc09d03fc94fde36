import { parentPort, workerData } from "node:worker_threads";

import type { Errand, Report } from "./crew-messages.ts";
import { runWorld } from "./one-world.ts";

if (parentPort === null)
  throw new Error("cannot work: this is a thread of the crew, and must be started by it");
const port = parentPort;
const { hours, seeds }: Errand = workerData;
const [NEXT, END] = [0, 1];
const shared = new Int32Array(seeds);

for (;;) {
  const seed = Atomics.add(shared, NEXT, 1);
  if (seed >= Atomics.load(shared, END)) break;
  const { polls, lives, virtualMs, violation } = await runWorld(String(seed), hours);
  const report: Report = { seed, polls, lives, virtualMs, violation };
  port.postMessage(report);
}
