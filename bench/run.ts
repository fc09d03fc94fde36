/**
 * What Pacewatch costs and how true it measures, next to blackbox_exporter on the same machine: `npm run bench`.
 * With `--quick` only what the goals need, with `--only latency` one part. With `--write` the newest run of each part goes
 * into bench/README.md, the plots and the table next to peers into docs/performance.md, and that into the README too.
 */

import { fileURLToPath } from "node:url";
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
import { measureReport } from "./measure/report.ts";
import { measureScale } from "./measure/scale.ts";
import { measureStartUp } from "./measure/start-up.ts";
import { keepResult, thisMachine, type Result } from "./report/result.ts";
import { findPrograms, setStage, type Programs, type Stage } from "./stage.ts";
import { tableOf } from "./report/table.ts";
import { missedGoals } from "./report/verdict.ts";
import { warm } from "./programs/shipped-commit.ts";
import { versionsOf } from "./programs/versions.ts";
import { writeDocs } from "./report/write-docs.ts";

type Measured = Pick<Result, "figures" | "growth">;

const figures =
  (measure: (stage: Stage) => Promise<readonly Figure[]>) =>
  async (stage: Stage): Promise<Measured> => ({ figures: await measure(stage), growth: [] });

/** In this order. */
const PARTS: Readonly<Record<string, (stage: Stage) => Promise<Measured>>> = {
  cpu: figures(measureCpu),
  floor: figures(measureFloor),
  "peers-http": figures((stage) => measurePeers(stage, "http")),
  "peers-https": figures((stage) => measurePeers(stage, "https")),
  latency: figures(measureLatency),
  memory: figures(measureMemory),
  "start-up": figures(measureStartUp),
  report: figures(measureReport),
  scale: figures(measureScale),
  growth: async (stage) => ({ figures: [], growth: await measureGrowth(stage) }),
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
  await warm(fileURLToPath(new URL("..", import.meta.url)));
  const measured: Figure[] = [];
  for (const [part, measure] of parts) {
    const result = await measurePart(programs, depth, part, measure);
    if (result.figures.length === 0 && result.growth.length === 0) continue;
    console.log(`\n${tableOf(result.figures)}`);
    for (const note of result.notes) console.log(`Note: ${note}`);
    console.log(`Kept as ${await keepResult(result)}.`);
    measured.push(...result.figures);
  }
  const missed = missedGoals(GOALS, measured);
  for (const { says } of missed) console.error(`missed by more than this run's noise: ${says}`);
  return missed.length === 0 ? 0 : 1;
}

async function measurePart(
  programs: Programs,
  depth: Depth,
  part: string,
  measure: (stage: Stage) => Promise<Measured>,
): Promise<Result> {
  const startedMs = performance.now();
  const elapsedS = (): string => ((performance.now() - startedMs) / 1_000).toFixed(0).padStart(4);
  const notes: string[] = [];
  await using stage = await setStage(programs, {
    depth,
    progress: (doing) => console.log(`${part} ${elapsedS()} s  ${doing}`),
    note: (text) => notes.push(text),
  });
  const { figures: measured, growth } = await measure(stage);
  return {
    at: new Date().toISOString(),
    part: depth === QUICK ? `${part}-quick` : part,
    machine: thisMachine(),
    versions: await versionsOf(programs),
    figures: measured,
    growth,
    notes,
  };
}
