/** A client says what it accepts, and how much it likes it (RFC 9110, 12.4.2 and 12.5). */

/** One of those in which something can be answered. */
export type MediaType = {
  readonly mediaType: string;
  /** Those that tell it from another. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly isText: boolean;
};

type Item = {
  readonly name: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly weight: number;
};

/** Three times of what Prometheus says. All that a header can hold would take 30 ms. */
const READ_CHARS = 1_000;

function itemsOf(header = ""): readonly Item[] {
  const items = header.slice(0, READ_CHARS).split(",");
  return items.map((item) => {
    const [name = "", ...rest] = item.split(";").map((part) => part.trim().toLowerCase());
    const parameters = new Map(rest.map(parameterOf));
    const weight = parameters.get("q") ?? "1";
    parameters.delete("q");
    return { name, parameters, weight: /^[01](\.\d{0,3})?$/.test(weight) ? Math.min(1, Number(weight)) : 0 };
  });
}

function parameterOf(text: string): [name: string, value: string] {
  const [name = "", ...rest] = text.split("=");
  const value = rest.join("=").trim();
  return [name.trimEnd(), value.replace(/^"(.*)"$/, "$1")];
}

export type Coding = "identity" | "gzip" | "zstd";

export function codingFor(acceptEncoding: string | undefined): Coding {
  const weights = new Map(itemsOf(acceptEncoding).map(({ name, weight }) => [name, weight]));
  // An unlisted identity is acceptable, but not preferred.
  const identity = weights.get("identity") ?? 0;
  const gzip = weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0;
  // Whoever asks for anything at all may not know it.
  const zstd = weights.get("zstd") ?? 0;
  if (zstd > 0 && zstd >= gzip && zstd >= identity) return "zstd";
  return gzip > 0 && gzip >= identity ? "gzip" : "identity";
}

/** Our names are the same in these; with `dots` they would not be. */
const ESCAPINGS: ReadonlySet<string> = new Set(["allow-utf-8", "underscores", "values"]);

/** The format that the client likes best, and the type to answer with. Who accepts none of these gets the first. */
export function formatFor<Offered extends MediaType>(
  accept: string | undefined,
  formats: readonly [Offered, ...Offered[]],
): { readonly format: Offered; readonly type: string } {
  const items = itemsOf(accept);
  const liked = formats.flatMap((format) => {
    const item = mostSpecific(items, format);
    return item === undefined || item.weight === 0 ? [] : [{ format, item }];
  });
  // What it names is liked more than what it only allows. The sort keeps our own order otherwise.
  const [best] = liked.toSorted(
    (a, b) => b.item.weight - a.item.weight || specificity(b.item) - specificity(a.item),
  );
  const { format, item } = best ?? { format: formats[0], item: undefined };
  const escaping = item?.parameters.get("escaping") ?? "";
  return {
    format,
    type: [
      format.mediaType,
      ...Object.entries(format.parameters).map((parameter) => parameter.join("=")),
      ...(format.isText ? ["charset=utf-8"] : []),
      ...(ESCAPINGS.has(escaping) ? [`escaping=${escaping}`] : []),
    ].join("; "),
  };
}

function mostSpecific(items: readonly Item[], format: MediaType): Item | undefined {
  return items
    .filter((item) => allows(item, format))
    .toSorted((a, b) => specificity(b) - specificity(a) || b.weight - a.weight)[0];
}

/** These parameters do not tell one format from another. */
const INDIFFERENT: ReadonlySet<string> = new Set(["charset", "escaping"]);

function allows({ name, parameters }: Item, { mediaType, parameters: ours }: MediaType): boolean {
  const [type = ""] = mediaType.split("/");
  if (name !== mediaType && name !== `${type}/*` && name !== "*/*") return false;
  return parameters
    .entries()
    .every(([key, value]) => INDIFFERENT.has(key) || ours[key]?.toLowerCase() === value);
}

function specificity({ name, parameters }: Item): number {
  if (name === "*/*") return 0;
  if (name.endsWith("/*")) return 1;
  return 2 + [...parameters.keys()].filter((key) => !INDIFFERENT.has(key)).length;
}
