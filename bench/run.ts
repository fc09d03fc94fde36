/**
 * What Pacewatch costs and how true it measures, next to blackbox_exporter on the same machine: `npm run bench`.
 * With `--quick` only what the goals need, with `--only peers` one part. With `--write` the newest full run, and the
 * newest of the parts `peers` and `memory`, go into docs/performance.md, and the table of `peers` into the README.
 */

import { parseArgs } from "node:util";
import { FULL, QUICK, type Depth } from "./depth.ts";
import type { Figure } from "./report/figure.ts";
import { GOALS } from "./report/goals.ts";
import { measureCpu } from "./measure/cpu.ts";
import { measureFloor } from "./measure/floor.ts";
import { measureGrowth } from "./measure/growth.ts";
import { measureLatency } from "./measure/latency.ts";
import { measureMemory } from "./measure/memory.ts";
import { measurePeers } from "./measure/peers.ts";
import { measureScale } from "./measure/scale.ts";
import { measureStartUp } from "./measure/start-up.ts";
import { keepResult, thisMachine, type Result } from "./report/result.ts";
import { findPrograms, setStage, type Programs, type Stage } from "./stage.ts";
import { tableOf } from "./report/table.ts";
import { missedGoals } from "./report/verdict.ts";
import { versionsOf } from "./programs/versions.ts";
import { writeDocs } from "./report/write-docs.ts";

/** In this order. */
const PARTS = {
  cpu: measureCpu,
  floor: measureFloor,
  peers: measurePeers,
  latency: measureLatency,
  memory: measureMemory,
  "start-up": measureStartUp,
  scale: measureScale,
};

const flag = { type: "boolean", default: false } as const;
const { values } = parseArgs({ options: { quick: flag, only: { type: "string" }, write: flag } });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
process.exitCode = values.write ? await write() : await bench(values.quick ? QUICK : FULL, values.only);

async function write(): Promise<number> {
  for (const path of await writeDocs()) console.log(`wrote ${path}`);
  return 0;
}

async function bench(depth: Depth, only?: string): Promise<number> {
  const parts = Object.entries(PARTS).filter(([name]) => name === (only ?? name));
  if (parts.length === 0) {
    console.error(
      `cannot measure: --only must be one of ${Object.keys(PARTS).join(", ")}, received "${only}"`,
    );
    return 2;
  }
  const programs = findPrograms();
  if (typeof programs === "string") {
    console.error(programs);
    return 1;
  }
  const result = await measureAll(programs, only === undefined ? depth : { ...depth, name: only }, parts);
  console.log(`\n${tableOf(result.figures)}`);
  for (const note of result.notes) console.log(`Note: ${note}`);
  console.log(`Kept as ${await keepResult(result)}; it took ${result.tookS.toFixed(0)} s.`);
  const missed = missedGoals(GOALS, result.figures);
  for (const { says } of missed) console.error(`missed by more than this run's noise: ${says}`);
  return missed.length === 0 ? 0 : 1;
}

async function measureAll(
  programs: Programs,
  depth: Depth,
  parts: readonly (readonly [string, (stage: Stage) => Promise<readonly Figure[]>])[],
): Promise<Result> {
  const startedMs = performance.now();
  const elapsedS = (): number => (performance.now() - startedMs) / 1_000;
  const notes: string[] = [];
  await using stage = await setStage(programs, {
    depth,
    progress: (doing) => console.log(`${elapsedS().toFixed(0).padStart(4)} s  ${doing}`),
    note: (text) => notes.push(text),
  });
  const figures: Figure[] = [];
  for (const [, measure] of parts) figures.push(...(await measure(stage)));
  const growth = parts.length === 1 ? [] : await measureGrowth(stage);
  return {
    at: new Date().toISOString(),
    depth: depth.name,
    tookS: elapsedS(),
    machine: thisMachine(),
    versions: await versionsOf(programs),
    figures,
    growth,
    notes,
  };
}
