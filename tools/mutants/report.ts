import { markdownTable } from "../markdown-table.ts";
import { folderOf } from "./choose.ts";
import type { Verdict } from "./judge.ts";

export type Bounds = { readonly quickPercent: number; readonly allPercent: number };

type Seen = { readonly mutants: number; readonly quick: number; readonly all: number };

function seenOf(verdicts: readonly Verdict[]): Seen {
  return {
    mutants: verdicts.length,
    quick: verdicts.filter(({ seenBy }) => seenBy?.isLong === false).length,
    all: verdicts.filter(({ seenBy }) => seenBy !== undefined).length,
  };
}

/** One row a folder, and all of them last. */
export function tableOf(verdicts: readonly Verdict[]): string {
  const folders = Map.groupBy(verdicts, ({ mutant }) => folderOf(mutant.file));
  const row = (name: string, { mutants, quick, all }: Seen): readonly string[] => [
    name,
    String(mutants),
    `${quick} (${percent(quick, mutants)})`,
    `${all} (${percent(all, mutants)})`,
  ];
  return markdownTable(
    ["folder", "changes", "seen by the quick tests", "by all that ran"],
    [...[...folders].map(([name, some]) => row(name, seenOf(some))), row("all", seenOf(verdicts))],
  );
}

export function lineOf({ mutant, seenBy, hung, tookMs }: Verdict): string {
  const seen = seenBy === undefined ? "NOT SEEN" : `seen by ${seenBy.name}${hung ? " (it hung)" : ""}`;
  return `${mutant.file}:${mutant.line}  ${mutant.change}  ${seen}  ${(tookMs / 1_000).toFixed(1)} s`;
}

/** What is below its bound, a sentence each. */
export function shortfalls(
  verdicts: readonly Verdict[],
  bounds: Bounds,
  withLong: boolean,
): readonly string[] {
  const { mutants, quick, all } = seenOf(verdicts);
  const short = (name: string, seen: number, least: number): readonly string[] =>
    100 * seen < least * mutants
      ? [`${name} see ${percent(seen, mutants)} of ${mutants}, less than ${least} %`]
      : [];
  return [
    ...short("the quick tests", quick, bounds.quickPercent),
    ...(withLong ? short("all tests", all, bounds.allPercent) : []),
  ];
}

function percent(some: number, all: number): string {
  return all === 0 ? "none" : `${((100 * some) / all).toFixed(0)} %`;
}
