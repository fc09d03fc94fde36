import { readdir, readFile, writeFile, mkdir } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import type { Figure } from "./figure.ts";
import type { GrowthPoint } from "../measure/growth.ts";

export type Machine = {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
};

/** One part of the bench, measured once. */
export type Result = {
  readonly at: string;
  readonly part: string;
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string>>;
  readonly figures: readonly Figure[];
  readonly growth: readonly GrowthPoint[];
  readonly notes: readonly string[];
};

const FOLDER = new URL("../results/", import.meta.url);

export function thisMachine(): Machine {
  const [first, ...others] = cpus();
  return {
    cpu: first?.model.trim() ?? "unknown",
    cores: others.length + (first === undefined ? 0 : 1),
    memoryGb: Math.round(totalmem() / 1e9),
  };
}

/** `2026-01-31-1200-amd-epyc-2-cores-memory.json`: sorted by name is sorted by time. */
function fileNameOf({ at, part, machine }: Pick<Result, "at" | "part" | "machine">): string {
  const moment = at.slice(0, 16).replace("T", "-").replace(":", "");
  const name = `${machine.cpu} ${machine.cores} cores`.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return `${moment}-${name}-${part}.json`;
}

export async function keepResult(result: Result): Promise<string> {
  await mkdir(FOLDER, { recursive: true });
  const name = fileNameOf(result);
  await writeFile(new URL(name, FOLDER), `${JSON.stringify(result, rounded, 2)}\n`);
  return `bench/results/${name}`;
}

export type Kept = { readonly name: string; readonly result: Result };

export async function newestResult(part: string): Promise<Kept> {
  const names = await readdir(FOLDER).catch(() => []);
  const name = names
    .filter((each) => each.endsWith(`-${part}.json`))
    .toSorted()
    .at(-1);
  if (name === undefined) throw new Error(`cannot write the table: bench/results has none of "${part}"`);
  const text = await readFile(new URL(name, FOLDER), "utf8");
  return { name, result: JSON.parse(text) as Result };
}

function rounded(_key: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(5)) : value;
}
