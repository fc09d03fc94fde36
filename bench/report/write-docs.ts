import { readFile, writeFile } from "node:fs/promises";
import { growthPlots } from "./growth-plots.ts";
import { betweenMarkers } from "./markers.ts";
import { newestResult, type Result } from "./result.ts";
import { svgOf } from "./svg.ts";
import { amount, tableOf } from "./table.ts";

const ROOT = new URL("../../", import.meta.url);

/** Writes the newest full run into every page that shows it. Returns their paths. */
export async function writeDocs(): Promise<readonly string[]> {
  const pages = await benchPages();
  for (const [path, text] of pages) await writeFile(new URL(path, ROOT), text);
  return [...pages.keys()];
}

/** Every file that shows the newest full run, by path: the table and the plots, and the README's sentences. */
export async function benchPages(): Promise<ReadonlyMap<string, string>> {
  const { name, result } = await newestResult();
  const plots = Object.entries(growthPlots(result.growth));
  return new Map([
    ["README.md", await withBench("README.md", headlineOf(result))],
    ["docs/performance.md", await withBench("docs/performance.md", tableAndMachine(name, result))],
    ...plots.map(([file, plot]) => [`docs/images/${file}`, svgOf(plot)] as const),
  ]);
}

async function withBench(path: string, text: string): Promise<string> {
  return betweenMarkers(await readFile(new URL(path, ROOT), "utf8"), "bench", text);
}

function tableAndMachine(name: string, { at, machine, versions, figures, notes }: Result): string {
  const programs = Object.entries(versions).map(([program, version]) => `${program} ${version}`);
  const link = `[bench/results/${name}](../bench/results/${name})`;
  const about = `${at.slice(0, 10)}, ${machine.cores} cores of ${machine.cpu}, ${programs.join(", ")}: ${link}.`;
  const remarks = notes.map((note) => `- ${note}`).join("\n");
  return `${tableOf(figures)}\n${about}\n${remarks === "" ? "" : `\n${remarks}\n`}`;
}

/** The run in a few sentences, for whoever wants to know what it costs. */
export function headlineOf({ at, figures }: Pick<Result, "at" | "figures">): string {
  const median = (id: string): string => {
    const figure = figures.find((each) => each.id === id);
    return figure === undefined ? "unknown" : amount(figure.summary.median, figure.unit);
  };
  return [
    `Next to blackbox_exporter (${at.slice(0, 10)}), a poll costs ${median("cpu-http-fresh")} of its CPU over HTTP and ${median("cpu-https-fresh")} over HTTPS. `,
    `The process takes ${median("rss-2")} with 2 upstreams and ${median("rss-per-upstream")} for each further one. `,
    "[More, and how it was measured](docs/performance.md).\n",
  ].join("");
}
