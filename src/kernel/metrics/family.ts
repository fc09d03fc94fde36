/** The families of metrics, each with where its numbers come from: the public contract. A feature has those of its own. */

import type { Count, Counter } from "./counts.ts";
import type { Exemplar, Histogram } from "./histogram.ts";
import type { BudgetSnapshot, MetricsSnapshot, Running, UpstreamSnapshot } from "./snapshot.ts";

export type MetricType = "counter" | "gauge" | "histogram" | "summary";

export type Description = {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
};

export type Labels = Readonly<Record<string, string>>;
export const NO_LABELS: Labels = {};

type Counted = Readonly<Pick<Histogram, "count" | "sum">>;
export type Summary = Counted & { readonly bounds?: undefined };

/** A summary that also has buckets: those that every format can show, and others for formats that know them. */
export type Distribution = Counted &
  Readonly<Pick<Histogram, "bounds" | "counts"> & Partial<Pick<Histogram, "exponential">>>;

export type Value = number | Summary | Distribution;

export type Sample = {
  /** In addition to those of what the sample belongs to. */
  readonly labels: Labels;
  readonly value: Value;
  /** Wall clock; of what is counted. It was 0 then. */
  readonly startedAtMs?: number | undefined;
  readonly exemplar?: Exemplar | undefined;
};

/** Without a value there is no sample; true is 1. Without a start, the sample is as old as what it belongs to. */
export type Add = (
  value: Value | boolean | undefined,
  labels?: Labels,
  more?: Pick<Sample, "startedAtMs" | "exemplar">,
) => void;
type Read<Subject> = (subject: Subject, add: Add) => void;

export type Family<Subject = never> = Omit<Description, "name"> & { readonly read: Read<Subject> };

export type Families<Subject> = Readonly<Record<string, Family<Subject>>>;

/** What a feature's families read beside what the kernel knows: asked once a scrape, and the answer once for each subject. */
type Given<Subject> = (running: Running) => (known: Subject) => Partial<Subject>;

/** All that the kernel, or a feature, shows at `/metrics`, by name: of each upstream, of each budget, of the process. */
export type Metrics = {
  readonly upstream?: Families<UpstreamSnapshot>;
  readonly budget?: Families<BudgetSnapshot>;
  readonly process?: Families<MetricsSnapshot>;
  readonly ofUpstream?: Given<UpstreamSnapshot>;
  readonly ofBudget?: Given<BudgetSnapshot>;
  /** Labels of every sample. */
  readonly everywhere?: (running: Running) => Labels;
  readonly counter?: Counter;
};

/** Completes what the kernel knows of a subject with what the features give. */
export function completed<Subject extends object>(
  given: readonly (Given<Subject> | undefined)[],
  running: Running,
): (known: Subject) => Subject {
  const parts = given.flatMap((each) => each?.(running) ?? []);
  return (known) => {
    for (const part of parts) Object.assign(known, part(known));
    return known;
  };
}

function familyOf(type: MetricType) {
  return <Subject>(help: string, read: Read<Subject>): Family<Subject> => ({ type, help, read });
}

type Make = ReturnType<typeof familyOf>;
export const counter: Make = familyOf("counter");
export const gauge: Make = familyOf("gauge");
export const summary: Make = familyOf("summary");
export const histogram: Make = familyOf("histogram");

/** One sample, without further labels. */
export function one<Subject>(read: (subject: Subject) => Value | boolean | undefined): Read<Subject> {
  return (subject, add) => add(read(subject));
}

export function eachCount<Subject, Word>(
  counts: (subject: Subject) => readonly Count<Word>[],
  labelsOf: (word: Word) => Labels,
): Read<Subject> {
  return (subject, add) => counts(subject).forEach((each) => add(each.count, labelsOf(each.word), each));
}

export function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}
