import { readFile, writeFile } from "node:fs/promises";
import { growthPlots } from "./growth-plots.ts";
import { betweenMarkers } from "./markers.ts";
import { type Kept, newestResult, type Result } from "./result.ts";
import type { Figure } from "./figure.ts";
import type { Unit } from "./goals.ts";
import type { Summary } from "./statistics.ts";
import { markdownTable } from "../../tools/markdown-table.ts";
import { svgOf } from "./svg.ts";
import { amount, tableOf } from "./table.ts";

const ROOT = new URL("../../", import.meta.url);

/** By the markers of docs/performance.md: what stands between them. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  bench: ["cpu", "floor", "latency", "start-up", "report", "scale"],
  peers: ["peers"],
  memory: ["memory"],
};

/** Writes the newest run of each part into every page that shows it. Returns their paths. */
export async function writeDocs(): Promise<readonly string[]> {
  const pages = await benchPages();
  for (const [path, text] of pages) await writeFile(new URL(path, ROOT), text);
  return [...pages.keys()];
}

/** Every file that shows the newest runs, by path: the tables and the plots, and the README's small table. */
export async function benchPages(): Promise<ReadonlyMap<string, string>> {
  const read = (path: string): Promise<string> => readFile(new URL(path, ROOT), "utf8");
  let performance = await read("docs/performance.md");
  for (const [marker, parts] of Object.entries(TABLES))
    performance = betweenMarkers(
      performance,
      marker,
      tableAndMachines(await Promise.all(parts.map(newestResult))),
    );
  const [peers, growth] = [await newestResult("peers"), await newestResult("growth")];
  const plots = Object.entries(growthPlots(growth.result.growth));
  return new Map([
    ["README.md", betweenMarkers(await read("README.md"), "bench", costTable(peers.result))],
    ["docs/performance.md", performance],
    ...plots.map(([file, plot]) => [`docs/images/${file}`, svgOf(plot)] as const),
  ]);
}

function tableAndMachines(kept: readonly Kept[]): string {
  const remarks = kept.flatMap(({ name, result }) => [aboutRun(name, result), ...result.notes]);
  const table = tableOf(kept.flatMap(({ result }) => result.figures));
  return `${table}\n${remarks.map((remark) => `- ${remark}`).join("\n")}\n`;
}

function aboutRun(name: string, { at, part, machine, versions }: Result): string {
  const programs = Object.entries(versions).map(([program, version]) => `${program} ${version}`);
  const link = `[bench/results/${name}](../bench/results/${name})`;
  return `${part}: ${at.slice(0, 10)}, ${machine.cores} cores of ${machine.cpu}, ${programs.join(", ")}: ${link}`;
}

/** What a user wants to know: the CPU of a poll and the memory, beside others in the same run. */
function costTable({ at, figures }: Pick<Result, "at" | "figures">): string {
  const figure = (id: string): Figure | undefined => figures.find((each) => each.id === id);
  const cell = (summary: Summary | undefined, unit: Unit): string =>
    summary === undefined ? "not measured" : amount(summary.median, unit);
  const others = ["blackbox", "gatus", "cloudprober"];
  const cpu = (way: string): readonly string[] => [
    cell(figure(`cpu-blackbox-${way}`)?.from?.ours, "µs"),
    ...others.map((other) => cell(figure(`cpu-${other}-${way}`)?.from?.theirs, "µs")),
  ];
  const rss = ["pacewatch", ...others].map((each) => cell(figure(`rss-${each}-https-fresh`)?.summary, "MB"));
  const table = markdownTable(
    ["", "Pacewatch", "blackbox_exporter", "Gatus", "Cloudprober"],
    [
      ["CPU per poll, HTTP", ...cpu("http-fresh")],
      ["CPU per poll, HTTPS", ...cpu("https-fresh")],
      ["memory, HTTPS", ...rss],
    ],
  );
  return `300 upstreams every 3 s, each program alone, in one run (${at.slice(0, 10)}):\n\n${table}\n[More, and how it was measured](docs/performance.md).\n`;
}
