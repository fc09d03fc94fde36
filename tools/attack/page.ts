import { availableParallelism, cpus, loadavg } from "node:os";
import { markdownTable } from "../markdown-table.ts";
import type { ProbesSeen } from "./prober.ts";
import type { Endured } from "./stage.ts";

const HEAD = [
  "attack",
  "upstreams",
  "longest probe at `probe_listen`",
  "at `listen`",
  "longest gap between polls",
  "most resident memory",
  "limit",
];

export function rowsOf(all: readonly Endured[]): readonly (readonly string[])[] {
  return all.map((endured) => [
    endured.attack,
    String(endured.upstreams),
    probed(endured.probes),
    probed(endured.probesBeside),
    seconds(endured.longestGapMs),
    endured.ended === undefined ? mebibytes(endured.peakBytes) : `**ended: ${endured.ended}**`,
    mebibytes(endured.limitBytes) + (endured.isLimited ? "" : ", not enforced"),
  ]);
}

/** The page with these figures in place of the old ones under `mark`. */
export function withFigures(page: string, mark: string, all: readonly Endured[]): string {
  if (all.length === 0) return page;
  const [begin, end] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`];
  const [before, rest] = [page.slice(0, page.indexOf(begin)), page.slice(page.indexOf(end))];
  const machine = `${availableParallelism()} cores of ${cpus()[0]?.model ?? "an unknown processor"}, at a load of ${(loadavg()[0] ?? 0).toFixed(0)}, Node.js ${process.version}.`;
  return `${before}${begin}\n\n${markdownTable(HEAD, rowsOf(all))}\n${machine}\n\n${rest}`;
}

function probed({ longestMs, failed }: ProbesSeen): string {
  return seconds(longestMs) + (failed > 0 ? `, ${failed} failed` : "");
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(0)} MiB`;
}
