import type { Bytes } from "./bytes.ts";
import { eachBucket, type Format } from "./format.ts";
import type { Description, Distribution, Labels, Sample } from "../kernel/metrics/family.ts";
import type { Exemplar } from "../kernel/metrics/histogram.ts";

/** Prometheus's text (versions 0.0.4 and 1.0.0 are the same for names like ours), or OpenMetrics 1.0. */
export class TextFormat implements Format {
  readonly end: Uint8Array;
  readonly #isOpenMetrics: boolean;

  constructor(isOpenMetrics: boolean) {
    this.#isOpenMetrics = isOpenMetrics;
    this.end = bytesOf(isOpenMetrics ? "# EOF\n" : "");
  }

  labels(out: Bytes, labels: Labels): void {
    writeLabels(out, labels, false);
  }

  sample(out: Bytes, { name }: Description, common: Bytes, { labels, value, exemplar }: Sample): void {
    if (typeof value === "number") {
      writeSeries(out, name, "", common, labels);
      this.#number(out, value, exemplar);
      return;
    }
    if (value.bounds !== undefined) this.#buckets(out, name, common, labels, value, exemplar);
    writeSeries(out, name, "_sum", common, labels);
    this.#number(out, value.sum);
    writeSeries(out, name, "_count", common, labels);
    this.#number(out, value.count);
  }

  /** OpenMetrics names a counter without the ending that its samples have. */
  head({ name, type, help }: Description): Uint8Array {
    const escaped = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
    if (!this.#isOpenMetrics) return bytesOf(`# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`);
    const family = type === "counter" ? name.replace(/_total$/, "") : name;
    const known = type === "counter" && family === name ? "unknown" : type;
    return bytesOf(`# HELP ${family} ${escaped.replaceAll('"', '\\"')}\n# TYPE ${family} ${known}\n`);
  }

  /** Their lines differ in the bound and the number. */
  #buckets(
    out: Bytes,
    name: string,
    common: Bytes,
    labels: Labels,
    value: Distribution,
    exemplar: Exemplar | undefined,
  ): void {
    const from = out.length;
    writeSeries(out, name, "_bucket", common, { ...labels, le: "" });
    // What stands before the bound: after it come a quote, a brace and a space.
    const to = out.length - 3;
    out.length = from;
    eachBucket(value, exemplar, (bound, count, one) => {
      out.repeat(from, to);
      out.text(boundText(bound));
      out.text('"} ');
      this.#number(out, count, one);
    });
  }

  #number(out: Bytes, value: number, exemplar?: Exemplar): void {
    out.text(numberText(value));
    if (this.#isOpenMetrics && exemplar !== undefined) {
      out.text(" # {");
      writeLabels(out, exemplar.labels, false);
      out.text(`} ${numberText(exemplar.value)} ${numberText(exemplar.atMs / 1000)}`);
    }
    out.text("\n");
  }
}

/** All of a line that stands before its number. */
function writeSeries(out: Bytes, name: string, suffix: string, common: Bytes, labels: Labels): void {
  out.text(name);
  out.text(suffix);
  const from = out.length;
  out.text("{");
  out.copy(common);
  writeLabels(out, labels, common.length > 0);
  if (out.length === from + 1) out.length = from;
  else out.text("}");
  out.text(" ");
}

function writeLabels(out: Bytes, labels: Labels, areThereOthers: boolean): void {
  let separator = areThereOthers ? "," : "";
  for (const name in labels) {
    out.text(separator);
    out.text(name);
    out.text('="');
    out.text(escapeLabelValue(labels[name] ?? ""));
    out.text('"');
    separator = ",";
  }
}

const NEEDS_ESCAPING = /[\\\n"]/;

function escapeLabelValue(text: string): string {
  if (!NEEDS_ESCAPING.test(text)) return text;
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

function numberText(value: number): string {
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}

/** A bound is a label: written in one way, whatever the format, a series is the same in all of them. */
function boundText(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : numberText(bound);
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
