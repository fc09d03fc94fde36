import type { Unit } from "./goals.ts";
import { pairedRatios, summaryOf, type Summary } from "./statistics.ts";

/** One line of the table. */
export type Figure = {
  /** Its name in results and goals. */
  readonly id: string;
  readonly says: string;
  readonly unit: Unit;
  readonly summary: Summary;
  /** What the ratio was made of, for those who ask how fast the machine was. */
  readonly from?: { readonly ours: Summary; readonly theirs: Summary; readonly unit: Unit };
};

export function figureOf(id: string, says: string, unit: Unit, values: readonly number[]): Figure {
  return { id, says, unit, summary: summaryOf(values) };
}

export type Pairs = { readonly ours: readonly number[]; readonly theirs: readonly number[] };

export function ratioOf(id: string, says: string, unit: Unit, { ours, theirs }: Pairs): Figure {
  return {
    id,
    says,
    unit: "ratio",
    summary: summaryOf(pairedRatios(ours, theirs)),
    from: { ours: summaryOf(ours), theirs: summaryOf(theirs), unit },
  };
}
