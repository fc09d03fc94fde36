/** A team shapes the rules: their severities, labels, waits, and which of them it has. */

import { didYouMean } from "../config/read/wording.ts";

export type Shape = {
  /** By the severity that stands in the rules. */
  readonly severity: Readonly<Record<string, string>>;
  /** On every alert. */
  readonly label: Readonly<Record<string, string>>;
  /** How long an alert must hold before it fires, by its name. */
  readonly for: Readonly<Record<string, string>>;
  /** Names of alerts that are left out. */
  readonly without: readonly string[];
};

export const AS_SHIPPED: Shape = { severity: {}, label: {}, for: {}, without: [] };

const SEVERITIES = ["page", "ticket"];
const LABEL_NAME = /^(?!__)[a-zA-Z_]\w*$/;
/** Alerts have them already, or their series do. */
const TAKEN = "alertname severity window job instance vantage upstream budget quota name receiver".split(" ");
const PROMETHEUS_DURATION = /^(?:0|(?:\d+(?:ms|[smhdwy]))+)$/;

const ITEMS = /^(?= {2}(?: {4})?- )/m;
const GROUP = /^ {2}- name: /;
const ALERT = /^ {6}- alert: (\w+)/;
/** Each alert has this line, before its labels. */
const LABELS = /^( {8})(?=(?:keep_firing_for: \w+\n {8})?labels:$)/m;
const FOR = /^ {8}for: .*\n/m;
const SEVERITY = /^( {10}severity: )(\w+)$/m;
/** A burnt error budget is no page of its own while one of these has paged that outage. */
const PAGED = /^ +unless on \([\w, ]+\) min_over_time\(.+\) == 0\n/gm;
const PAGED_BY = ["PacewatchUpstreamDown", "PacewatchUpstreamBlocked"];

/** The faults of it, a sentence each. `labels`: those that the config gives to alerts. */
export function faultsOfShape(shape: Shape, text: string, labels: readonly string[]): readonly string[] {
  const alerts = [...new Set(text.split(ITEMS).flatMap((item) => ALERT.exec(item)?.[1] ?? []))];
  const unknown = (option: string, names: readonly string[], known: readonly string[]): readonly string[] =>
    names
      .filter((name) => !known.includes(name))
      .map(
        (name) => `"--${option}" has no "${name}": ${didYouMean(name, known)}there are ${known.join(", ")}`,
      );
  return [
    ...unknown("severity", Object.keys(shape.severity), SEVERITIES),
    ...unknown("for", Object.keys(shape.for), alerts),
    ...unknown("without", shape.without, alerts),
    ...Object.entries(shape.for)
      .filter(([, wait]) => !PROMETHEUS_DURATION.test(wait))
      .map(([name, wait]) => `"--for ${name}" must be a duration such as 2m, received "${wait}"`),
    ...Object.keys(shape.label).flatMap((name) => {
      if (!LABEL_NAME.test(name)) return [`"--label ${name}" must be the name of a label, such as team`];
      if (TAKEN.includes(name)) return [`"--label ${name}" is a label that alerts have by themselves`];
      return labels.includes(name) ? [`"--label ${name}" is a label of your upstreams already`] : [];
    }),
  ];
}

/** Changes the rules as text, so that every other byte stays as it was reviewed. */
export function shaped(text: string, shape: Shape): string {
  return text
    .split(ITEMS)
    .filter((item) => !shape.without.includes(ALERT.exec(item)?.[1] ?? ""))
    .filter((item, index, items) => !GROUP.test(item) || !GROUP.test(items[index + 1] ?? "  - name: "))
    .map((item) => shapedAlert(item, shape))
    .map((item) => (arePaged(shape) ? item : item.replace(PAGED, "")))
    .join("");
}

/** Whether each outage is paged as soon as it is known. */
function arePaged({ for: waits, without }: Shape): boolean {
  return PAGED_BY.every((alert) => !without.includes(alert) && !/[1-9]/.test(waits[alert] ?? ""));
}

function shapedAlert(item: string, { severity, label, for: waits }: Shape): string {
  const alert = ALERT.exec(item)?.[1];
  if (alert === undefined) return item;
  const wait = waits[alert];
  const waiting =
    wait === undefined
      ? item
      : item.replace(FOR, "").replace(LABELS, (indent) => `${indent}for: ${wait}\n${indent}`);
  const own = Object.entries(label).map(([name, value]) => `\n          ${name}: ${quoted(value)}`);
  return waiting.replace(SEVERITY, (_, key: string, is: string) => {
    const wanted = severity[is];
    return `${key}${wanted === undefined ? is : quoted(wanted)}${own.join("")}`;
  });
}

/** A string of JSON is one of YAML too. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

/** The options that lead to it, as typed. */
export function optionsOf({ severity, label, for: waits, without }: Shape): readonly string[] {
  const pairs = (option: string, of: Readonly<Record<string, string>>): readonly string[] =>
    Object.entries(of).flatMap(([name, value]) => [`--${option}`, `${name}=${value}`]);
  return [
    ...pairs("severity", severity),
    ...pairs("label", label),
    ...pairs("for", waits),
    ...without.flatMap((name) => ["--without", name]),
  ];
}
