/** One target, fuzzed in a thread of its own: what never returns is seen from outside. */

import { parentPort, workerData } from "node:worker_threads";
import * as fc from "fast-check";
import { configTarget } from "./config.ts";
import { headersTarget } from "./headers.ts";
import { responsesTarget } from "./responses.ts";
import type { Target } from "./target.ts";
import { webConfigTarget } from "./web-config.ts";

export type FuzzOrder = {
  readonly target: number;
  readonly seed: number;
  readonly milliseconds: number;
  /** How many cases were begun, and how long the last one's JSON is. */
  readonly counts: Int32Array;
  readonly lastCase: Uint8Array;
};

export type FuzzReport = {
  readonly runs: number;
  readonly error: string | undefined;
  readonly counterexample: string | undefined;
};

const order: FuzzOrder = workerData;
const encoder = new TextEncoder();

async function fuzz<Case>({ cases, open }: Target<Case>): Promise<FuzzReport> {
  const { counts, lastCase, seed, milliseconds } = order;
  await using session = await open();
  const property = fc.asyncProperty(cases, async (bytes) => {
    const { written } = encoder.encodeInto(JSON.stringify(bytes), lastCase);
    Atomics.store(counts, 1, written);
    Atomics.add(counts, 0, 1);
    await session.check(bytes);
  });
  const numRuns = Number.MAX_SAFE_INTEGER;
  const found = await fc.check(property, { seed, numRuns, interruptAfterTimeLimit: milliseconds });
  return {
    runs: found.numRuns,
    error: found.failed ? String(found.errorInstance) : undefined,
    counterexample: found.failed ? JSON.stringify(found.counterexample?.[0]) : undefined,
  };
}

const FUZZES: readonly (() => Promise<FuzzReport>)[] = [
  () => fuzz(headersTarget),
  () => fuzz(webConfigTarget),
  () => fuzz(configTarget),
  () => fuzz(responsesTarget),
];

parentPort?.postMessage(await FUZZES[order.target]?.());
