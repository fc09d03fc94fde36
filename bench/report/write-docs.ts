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

/** By the markers of bench/README.md: what stands between them. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  bench: ["cpu", "floor", "latency", "start-up", "report", "scale"],
  peers: ["peers-http", "peers-https"],
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
  const newest = (parts: readonly string[] = []): Promise<readonly Kept[]> =>
    Promise.all(parts.map(newestResult));
  let bench = await read("bench/README.md");
  for (const [marker, parts] of Object.entries(TABLES))
    bench = betweenMarkers(bench, marker, tableAndMachines(await newest(parts)));
  const [peers, growth, latency] = await Promise.all([
    newest(TABLES["peers"]),
    newestResult("growth"),
    newestResult("latency"),
  ]);
  const cost = costTable(peers.map(({ result }) => result));
  const performance = betweenMarkers(await read("docs/performance.md"), "bench", cost);
  const plots = Object.entries(growthPlots(growth.result.growth));
  return new Map([
    [
      "README.md",
      betweenMarkers(await read("README.md"), "bench", `${cost}\n[More](docs/performance.md).\n`),
    ],
    ["bench/README.md", bench],
    ["docs/performance.md", betweenMarkers(performance, "exact", exactTable(latency.result))],
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
  const link = `[${name}](results/${name})`;
  return `${part}: ${at.slice(0, 10)}, ${machine.cores} cores of ${machine.cpu}, ${programs.join(", ")}: ${link}`;
}

/** What a user wants to know: the CPU of a poll and the memory, beside others in the same run. */
function costTable(results: readonly Result[]): string {
  const figures = results.flatMap((result) => result.figures);
  const days = new Set(results.map(({ at }) => at.slice(0, 10)));
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
  return `300 upstreams every 3 s, each program alone, in one run (${[...days].join(", ")}):\n\n${table}`;
}

/** Of those rows that have a prober to compare with. */
function exactTable({ at, figures }: Result): string {
  const rows = figures.flatMap(({ says, from }) =>
    from === undefined
      ? []
      : [
          [
            says.replace("latency error ", ""),
            amount(from.ours.median, "ms"),
            amount(from.theirs.median, "ms"),
          ],
        ],
  );
  return `Measured on ${at.slice(0, 10)}:\n\n${markdownTable(["", "Pacewatch", "blackbox_exporter"], rows)}`;
}
