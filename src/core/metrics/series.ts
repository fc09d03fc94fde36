/** The series of a metric, and where their numbers come from. */

import type { HistogramReading } from "./histogram.ts";

export type Series<Owner> = {
  readonly suffix: "" | "_bucket" | "_sum" | "_count";
  /** Besides the label of the owner. Already as text, so that a scrape only appends. */
  readonly labels: string;
  /** Undefined while unknown: then the series is absent. */
  readonly read: Read<Owner>;
};

export type Read<Owner> = (owner: Owner) => number | undefined;

export type SeriesOf<Owner> = (owner: Owner) => readonly Series<Owner>[];

export type Labels = readonly (readonly [name: string, value: string])[];

export function labelText(labels: Labels): string {
  return labels.map(([name, value]) => `${name}="${escapeLabelValue(value)}"`).join(",");
}

const NEEDS_ESCAPING = /[\\\n"]/;

function escapeLabelValue(text: string): string {
  if (!NEEDS_ESCAPING.test(text)) return text;
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

export function one<Owner>(read: Read<Owner>): SeriesOf<Owner> {
  return all([{ suffix: "", labels: "", read }]);
}

export function all<Owner>(series: readonly Series<Owner>[]): SeriesOf<Owner> {
  return () => series;
}

/** One series for each value of a label. */
export function each<Owner, Value extends string>(
  label: string,
  values: readonly Value[],
  read: (owner: Owner, value: Value) => number | undefined,
): SeriesOf<Owner> {
  return all(
    values.map((value) => ({
      suffix: "",
      labels: labelText([[label, value]]),
      read: (owner) => read(owner, value),
    })),
  );
}

export function histogram<Owner>(
  bounds: readonly number[],
  labels: Labels,
  reading: (owner: Owner) => HistogramReading,
): readonly Series<Owner>[] {
  const buckets = [...bounds.map(String), "+Inf"].map((le, index) => ({
    suffix: "_bucket" as const,
    labels: labelText([...labels, ["le", le]]),
    read: (owner: Owner) => reading(owner).atOrUnder(index),
  }));
  return [
    ...buckets,
    { suffix: "_sum", labels: labelText(labels), read: (owner) => reading(owner).sum },
    { suffix: "_count", labels: labelText(labels), read: (owner) => reading(owner).count },
  ];
}

export function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}

export function flag(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}
