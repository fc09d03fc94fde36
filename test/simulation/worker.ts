import { parentPort, workerData } from "node:worker_threads";

import type { Errand, Report } from "./crew-messages.ts";
import { scenarioOf } from "./generate.ts";
import { MUTANTS } from "./mutants.ts";
import { UNCHANGED } from "./mutation.ts";
import { simulate } from "./simulate.ts";

if (parentPort === null)
  throw new Error("cannot work: this is a thread of the crew, and must be started by it");
const port = parentPort;
const { hours, mutant, seeds }: Errand = workerData;
const mutation = MUTANTS.find(({ name }) => name === mutant) ?? UNCHANGED;
const [NEXT, END] = [0, 1];
const shared = new Int32Array(seeds);

for (;;) {
  const seed = Atomics.add(shared, NEXT, 1);
  if (seed >= Atomics.load(shared, END)) break;
  const outcome = await simulate(scenarioOf(String(seed), hours * 3_600_000), mutation);
  const { polls, lives, virtualMs, violation } = outcome;
  const report: Report = { seed, polls, lives, virtualMs, violation };
  port.postMessage(report);
}
