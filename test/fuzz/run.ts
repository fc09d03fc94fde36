/**
 * Fuzzes every parser that takes bytes from outside: `npm run fuzz -- --seconds 60 --seed 1`. With `--worst`, it searches
 * for the answer that costs the most instead.
 */

import { once } from "node:events";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import type { FuzzOrder, FuzzReport } from "./worker.ts";
import { searchWorst } from "./worst.ts";

const TARGETS = ["headers", "web config", "config", "responses"];
const LONGEST_CASE_BYTES = 4_000_000;
const HANGS_AFTER_MS = 20_000;
/** Of the polling thread, for one answer. */
const MOST_MS = 10;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    worst: { type: "boolean", default: false },
  },
});
const milliseconds = (Number(values.seconds) * 1_000) / TARGETS.length;
const seed = Number(values.seed);

async function fuzz(target: number): Promise<FuzzReport> {
  const counts = new Int32Array(new SharedArrayBuffer(8));
  const lastCase = new Uint8Array(new SharedArrayBuffer(LONGEST_CASE_BYTES));
  const workerData: FuzzOrder = { target, seed, milliseconds, counts, lastCase };
  const worker = new Worker(new URL("worker.ts", import.meta.url), { workerData });
  const hung = Promise.withResolvers<FuzzReport>();
  let seen = 0;
  const watch = setInterval(() => {
    const begun = Atomics.load(counts, 0);
    if (begun === seen && begun > 0) {
      const counterexample = Buffer.from(lastCase.slice(0, Atomics.load(counts, 1))).toString();
      hung.resolve({ runs: begun, error: "it does not come back", counterexample });
    }
    seen = begun;
  }, HANGS_AFTER_MS);
  const ended = once(worker, "message").then(([report]): FuzzReport => report as FuzzReport);
  const report = await Promise.race([ended, hung.promise]);
  clearInterval(watch);
  await worker.terminate();
  return report;
}

async function fuzzAll(): Promise<number> {
  if (!(milliseconds > 0) || !Number.isSafeInteger(seed)) {
    console.error("cannot fuzz: --seconds must be a number above 0 and --seed a whole number");
    return 2;
  }
  let failures = 0;
  for (const [target, name] of TARGETS.entries()) {
    const { runs, error, counterexample } = await fuzz(target);
    console.log(`${name}: ${runs} cases, seed ${seed}: ${error ?? "nothing found"}`);
    if (error === undefined) continue;
    failures += 1;
    console.log(`  to be kept in test/fuzz/: ${counterexample}`);
  }
  return failures === 0 ? 0 : 1;
}

function fuzzForWorst(): number {
  const { tried, all } = searchWorst(Number(values.seconds), seed);
  console.log(`${tried} answers, seed ${seed}`);
  for (const { ms, keptBytes, recipe } of all)
    console.log(`${ms.toFixed(2)} ms, ${keptBytes} B kept: ${JSON.stringify(recipe)}`);
  return all.some(({ ms }) => ms > MOST_MS) ? 1 : 0;
}

process.exitCode = values.worst ? fuzzForWorst() : await fuzzAll();
