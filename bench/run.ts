/**
 * What Pacewatch costs and how true it measures, next to blackbox_exporter on the same machine: `npm run bench`.
 * With `--quick` only what the goals need. With `--write` the newest full run goes into docs/performance.md, and its headline into the README.
 */

import { parseArgs } from "node:util";
import { FULL, QUICK, type Depth } from "./depth.ts";
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
import { findPrograms, setStage, type Programs } from "./stage.ts";
import { tableOf } from "./report/table.ts";
import { missedGoals } from "./report/verdict.ts";
import { versionsOf } from "./programs/versions.ts";
import { writeDocs } from "./report/write-docs.ts";

const { values } = parseArgs({ options: { quick: { type: "boolean" }, write: { type: "boolean" } } });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
process.exitCode = values.write === true ? await write() : await bench(values.quick === true ? QUICK : FULL);

async function write(): Promise<number> {
  for (const path of await writeDocs()) console.log(`wrote ${path}`);
  return 0;
}

async function bench(depth: Depth): Promise<number> {
  const programs = findPrograms();
  if (typeof programs === "string") {
    console.error(programs);
    return 1;
  }
  const result = await measureAll(programs, depth);
  console.log(`\n${tableOf(result.figures)}`);
  for (const note of result.notes) console.log(`Note: ${note}`);
  console.log(`Kept as ${await keepResult(result)}; it took ${result.tookS.toFixed(0)} s.`);
  const missed = missedGoals(GOALS, result.figures);
  for (const { says } of missed) console.error(`missed by more than this run's noise: ${says}`);
  return missed.length === 0 ? 0 : 1;
}

async function measureAll(programs: Programs, depth: Depth): Promise<Result> {
  const startedMs = performance.now();
  const elapsedS = (): number => (performance.now() - startedMs) / 1_000;
  const notes: string[] = [];
  await using stage = await setStage(programs, {
    depth,
    progress: (doing) => console.log(`${elapsedS().toFixed(0).padStart(4)} s  ${doing}`),
    note: (text) => notes.push(text),
  });
  const figures = [
    ...(await measureCpu(stage)),
    ...(await measureFloor(stage)),
    ...(await measurePeers(stage)),
    ...(await measureLatency(stage)),
    ...(await measureMemory(stage)),
    ...(await measureStartUp(stage)),
    ...(await measureScale(stage)),
  ];
  const growth = await measureGrowth(stage);
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
