import { Bytes } from "./bytes.ts";
import type { Description, Distribution, Exemplar, FamilyWriter, Format, Labels, Sample } from "./sample.ts";

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
    if (this.#out.length === 0) this.#out.text(this.#preamble());
    const { name } = this.#description;
    const own = labelText(labels);
    if (typeof value === "number") {
      this.#line(name, common, own, value, exemplar);
      return;
    }
    if ("bounds" in value) this.#buckets(common, own === "" ? "" : `${own},`, value, exemplar);
    this.#line(`${name}_sum`, common, own, value.sum);
    this.#line(`${name}_count`, common, own, value.count);
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

  /** The exemplar stands beside the first bucket that counts it. */
  #buckets(common: Uint8Array, own: string, value: Distribution, exemplar: Exemplar | undefined): void {
    const name = `${this.#description.name}_bucket`;
    let pending = exemplar;
    for (let index = 0; index <= value.bounds.length; index += 1) {
      const bound = value.bounds[index] ?? Infinity;
      const isHere = pending !== undefined && pending.value <= bound;
      const le = `${own}le="${boundText(bound)}"`;
      this.#line(name, common, le, value.atOrUnder(index), isHere ? pending : undefined);
      if (isHere) pending = undefined;
    }
  }

  #line(name: string, common: Uint8Array, own: string, value: number, exemplar?: Exemplar): void {
    const out = this.#out;
    out.text(name);
    if (common.length > 0 || own !== "") {
      out.text("{");
      out.copy(common);
      out.text(common.length > 0 && own !== "" ? `,${own}} ` : `${own}} `);
    } else out.text(" ");
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
  for (const [name, value] of Object.entries(labels))
    text += `${text === "" ? "" : ","}${name}="${escapeLabelValue(value)}"`;
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
  return Number.isInteger(bound) ? bound.toFixed(1) : numberText(bound);
}

function bytesOf(text: string): Uint8Array {
  const out = new Bytes();
  out.text(text);
  return out.written;
}
