import { Bytes } from "./bytes.ts";
import {
  bucketsOf,
  type Description,
  type Distribution,
  type Exemplar,
  type FamilyWriter,
  type Format,
  type Labels,
  type Sample,
} from "./sample.ts";

/** Prometheus's text (versions 0.0.4 and 1.0.0 are the same for names like ours), or OpenMetrics 1.0. */
export class TextFormat implements Format {
  readonly end: Uint8Array;
  readonly #isOpenMetrics: boolean;

  constructor(isOpenMetrics: boolean) {
    this.#isOpenMetrics = isOpenMetrics;
    this.end = bytesOf(isOpenMetrics ? "# EOF\n" : "");
  }

  labels(labels: Labels): Uint8Array {
    return bytesOf(labelText(labels));
  }

  family(description: Description): FamilyWriter {
    return new TextFamily(description, this.#isOpenMetrics);
  }
}

class TextFamily implements FamilyWriter {
  readonly #description: Description;
  readonly #isOpenMetrics: boolean;
  readonly #out = new Bytes();

  constructor(description: Description, isOpenMetrics: boolean) {
    this.#description = description;
    this.#isOpenMetrics = isOpenMetrics;
  }

  add(common: Uint8Array, { labels, value, exemplar }: Sample): void {
    const out = this.#out;
    if (out.length === 0) out.text(this.#preamble());
    const own = labelText(labels);
    if (typeof value === "number") {
      this.#head("", common, own);
      this.#number(value, exemplar);
      return;
    }
    if ("bounds" in value) this.#buckets(common, own, value, exemplar);
    this.#head("_sum", common, own);
    this.#number(value.sum);
    this.#head("_count", common, own);
    this.#number(value.count);
  }

  written(): Uint8Array {
    return this.#out.written;
  }

  /** OpenMetrics names a counter without the ending that its samples have. */
  #preamble(): string {
    const { name, type, help } = this.#description;
    const escaped = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
    if (!this.#isOpenMetrics) return `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`;
    const family = type === "counter" ? name.replace(/_total$/, "") : name;
    const known = type === "counter" && family === name ? "unknown" : type;
    return `# HELP ${family} ${escaped.replaceAll('"', '\\"')}\n# TYPE ${family} ${known}\n`;
  }

  /** Their lines differ in the bound and the number. */
  #buckets(common: Uint8Array, own: string, value: Distribution, exemplar: Exemplar | undefined): void {
    const out = this.#out;
    const from = out.length;
    this.#open("_bucket", common, own);
    out.text(common.length > 0 || own !== "" ? ',le="' : 'le="');
    const to = out.length;
    for (const bucket of bucketsOf(value, exemplar)) {
      if (out.length > to) out.repeat(from, to);
      out.text(boundText(bucket.bound));
      out.text('"} ');
      this.#number(bucket.count, bucket.exemplar);
    }
  }

  /** All of a line that stands before its number. */
  #head(suffix: string, common: Uint8Array, own: string): void {
    const out = this.#out;
    if (common.length === 0 && own === "") {
      out.text(this.#description.name);
      out.text(suffix);
    } else {
      this.#open(suffix, common, own);
      out.text("}");
    }
    out.text(" ");
  }

  #open(suffix: string, common: Uint8Array, own: string): void {
    const out = this.#out;
    out.text(this.#description.name);
    out.text(suffix);
    out.text("{");
    out.copy(common);
    if (common.length > 0 && own !== "") out.text(",");
    out.text(own);
  }

  #number(value: number, exemplar?: Exemplar): void {
    const out = this.#out;
    out.text(numberText(value));
    if (this.#isOpenMetrics && exemplar !== undefined) out.text(exemplarText(exemplar));
    out.text("\n");
  }
}

function exemplarText({ labels, value, atMs }: Exemplar): string {
  return ` # {${labelText(labels)}} ${numberText(value)} ${numberText(atMs / 1000)}`;
}

function labelText(labels: Labels): string {
  let text = "";
  for (const name in labels) {
    if (text !== "") text += ",";
    text += `${name}="${escapeLabelValue(labels[name] ?? "")}"`;
  }
  return text;
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
  const out = new Bytes();
  out.text(text);
  return out.written;
}
