/** A strict reader of Prometheus's text format 0.0.4: whatever a scraper might stumble over is an error here. */

type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

type Family = {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
};

export type Families = ReadonlyMap<string, Family>;

const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: [""],
  gauge: [""],
  histogram: ["_bucket", "_sum", "_count"],
  summary: ["", "_sum", "_count"],
};

export function parseExposition(text: string): Families {
  if (!text.endsWith("\n")) throw new Error("the text must end with a line feed");
  const families = new Map<string, Family & { samples: Sample[] }>();
  const seen = new Set<string>();
  let help: { name: string; text: string } | undefined;
  let family: (Family & { samples: Sample[] }) | undefined;

  for (const line of text.slice(0, -1).split("\n")) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/.exec(line);
    if (line === "") continue;
    if (comment !== null) {
      const [, kind = "", name = "", rest = ""] = comment;
      if (kind === "HELP") {
        if (families.has(name)) throw new Error(`${name} is described twice`);
        help = { name, text: unescape(rest, "\\n") };
      } else {
        if (help?.name !== name) throw new Error(`${name} has a TYPE without a HELP before it`);
        if (SUFFIXES[rest] === undefined) throw new Error(`${name} has the unknown type ${rest}`);
        family = { name, type: rest, help: help.text, samples: [] };
        families.set(name, family);
      }
      continue;
    }
    const sample = parseSample(line);
    if (family === undefined || !belongs(sample, family)) {
      throw new Error(`"${line}" stands outside of its family`);
    }
    const pairs = Object.entries(sample.labels).map((pair) => JSON.stringify(pair));
    const identity = sample.name + pairs.sort().join();
    if (seen.has(identity)) throw new Error(`"${line}" is there twice`);
    seen.add(identity);
    family.samples.push(sample);
  }
  for (const each of families.values()) checkBuckets(each);
  return families;
}

/** The one sample of this name that has these labels, perhaps among others; undefined where there is none. */
export function sampleValue(
  families: Families,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = samplesOf(families, name, labels);
  if (found.length > 1) throw new Error(`${found.length} samples of ${name} have ${JSON.stringify(labels)}`);
  return found[0]?.value;
}

export function sumOfSamples(
  families: Families,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  return samplesOf(families, name, labels).reduce((sum, { value }) => sum + value, 0);
}

function samplesOf(
  families: Families,
  name: string,
  labels: Readonly<Record<string, string>>,
): readonly Sample[] {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ""));
  return (family?.samples ?? []).filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
}

function belongs(sample: Sample, family: Family): boolean {
  return (SUFFIXES[family.type] ?? []).some((suffix) => sample.name === family.name + suffix);
}

function parseSample(line: string): Sample {
  const parts = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
  if (parts === null) throw new Error(`"${line}" is not a sample`);
  const [, name = "", labels = "", number = ""] = parts;
  return { name, labels: parseLabels(labels, line), value: parseNumber(number, line) };
}

function parseLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  const pair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,(?!$)|$)/y;
  while (pair.lastIndex < text.length) {
    const [, name = "", value = ""] = pair.exec(text) ?? [];
    if (name === "") throw new Error(`"${line}" has labels that cannot be read`);
    if (labels[name] !== undefined) throw new Error(`"${line}" has the label ${name} twice`);
    labels[name] = unescape(value, '\\n"');
  }
  return labels;
}

function parseNumber(text: string, line: string): number {
  if (text === "+Inf") return Infinity;
  if (text === "-Inf") return -Infinity;
  if (/^nan$/i.test(text)) return NaN;
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) throw new Error(`"${line}" has no number`);
  return Number(text);
}

function unescape(text: string, escapable: string): string {
  return text.replace(/\\(.?)/gs, (_, char: string) => {
    if (char === "" || !escapable.includes(char)) throw new Error(`"${text}" has an unknown escape`);
    return char === "n" ? "\n" : char;
  });
}

/** Buckets in rising order, cumulative, closed by a +Inf that equals the count. */
function checkBuckets(family: Family): void {
  if (family.type !== "histogram") return;
  const last = new Map<string, { le: number; value: number }>();
  for (const { name, labels, value } of family.samples) {
    const { le, ...rest } = labels;
    const key = JSON.stringify(rest);
    const before = last.get(key);
    if (name.endsWith("_bucket")) {
      const bound = parseNumber(le ?? "", `${name}{le}`);
      if (before !== undefined && (bound <= before.le || value < before.value)) {
        throw new Error(`${name}${key} is not cumulative at ${le}`);
      }
      last.set(key, { le: bound, value });
    } else if (before?.le !== Infinity) {
      throw new Error(`${name}${key} has no +Inf bucket before it`);
    } else if (name.endsWith("_count") && before.value !== value) {
      throw new Error(`${name}${key} is not what its +Inf bucket says`);
    }
  }
}
