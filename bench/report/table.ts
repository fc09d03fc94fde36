import { markdownTable } from "../../tools/markdown-table.ts";
import type { Figure } from "./figure.ts";
import { GOALS, type Unit } from "./goals.ts";
import { goalOf, verdictOf, type Verdict } from "./verdict.ts";

const HEAD = ["figure", "min", "median", "max", "goal", "is", "Pacewatch", "the other"] as const;

const VERDICTS: Readonly<Record<Verdict, string>> = { met: "met", noisy: "within noise", missed: "missed" };

/** For a terminal and for a page alike. */
export function tableOf(figures: readonly Figure[]): string {
  return markdownTable(HEAD, figures.map(rowOf));
}

function rowOf(figure: Figure): readonly string[] {
  const { summary, unit, from } = figure;
  const goal = goalOf(GOALS, figure);
  if (goal === undefined && summary.values.length === 0)
    return [figure.says, "not here", ...HEAD.slice(2).map(() => "")];
  return [
    figure.says,
    ...[summary.min, summary.median, summary.max].map((value) => amount(value, unit)),
    goal === undefined ? "" : `≤ ${amount(goal.atMost, unit)}`,
    goal === undefined ? "" : VERDICTS[verdictOf(goal, figure)],
    from === undefined ? "" : amount(from.ours.median, from.unit),
    from === undefined ? "" : amount(from.theirs.median, from.unit),
  ];
}

/** Three digits say all that a noisy machine knows. */
export function amount(value: number, unit: Unit): string {
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toPrecision(3);
  switch (unit) {
    case "ratio":
      return value.toFixed(2);
    case "count":
      return digits;
    case "µs":
    case "ms":
    case "MB":
    case "kB":
    case "cores":
      return `${digits} ${unit}`;
    default:
      return unit satisfies never;
  }
}
