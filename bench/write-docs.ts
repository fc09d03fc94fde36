import { readFile, writeFile } from "node:fs/promises";
import { growthPlots } from "./growth-plots.ts";
import { betweenMarkers } from "./markers.ts";
import { newestResult, type Result } from "./result.ts";
import { svgOf } from "./svg.ts";
import { tableOf } from "./table.ts";
import { GOALS } from "./goals.ts";

const ROOT = new URL("../", import.meta.url);

/** The newest full run into every page that shows it. Answers which. */
export async function writeDocs(): Promise<readonly string[]> {
  const { name, result } = await newestResult();
  const goals = new Set(GOALS.map((goal) => goal.figure));
  const inShort = result.figures.filter(({ id }) => goals.has(id));
  const written = [
    await rewrite("README.md", page(name, { ...result, figures: inShort })),
    await rewrite("docs/performance.md", page(name, result)),
  ];
  for (const [file, plot] of Object.entries(growthPlots(result.growth))) {
    await writeFile(new URL(`docs/images/${file}`, ROOT), svgOf(plot));
    written.push(`docs/images/${file}`);
  }
  return written;
}

function page(name: string, { at, machine, versions, figures, notes }: Result): string {
  const told = Object.entries(versions).map(([program, version]) => `${program} ${version}`);
  const about = `${at.slice(0, 10)}, ${machine.cores} cores of ${machine.cpu}, ${told.join(", ")}: [bench/results/${name}](LINK).`;
  const remarks = notes.map((note) => `- ${note}`).join("\n");
  return `${tableOf(figures)}\n${about}\n${remarks === "" ? "" : `\n${remarks}\n`}`;
}

async function rewrite(path: string, text: string): Promise<string> {
  const url = new URL(path, ROOT);
  const name = /\[(bench\/results\/[^\]]+)\]/.exec(text)?.[1] ?? "";
  const linked = text.replace("(LINK)", `(${path.startsWith("docs/") ? "../" : ""}${name})`);
  await writeFile(url, betweenMarkers(await readFile(url, "utf8"), "bench", linked));
  return path;
}
