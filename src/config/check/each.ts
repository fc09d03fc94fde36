/** An upstream with `each` is a template: it makes one upstream for each combination of what is listed there. */

import { type Environment, EACH, interpolate } from "../read/interpolate.ts";
import { type MapTree, type Path, type Tree, childOf, entriesOf, itemsOf } from "../read/tree.ts";
import { MOST_MADE } from "../schema/each.ts";
import { type Complaint, complainOfValue } from "../read/fault.ts";

type Scalar = Tree & { readonly kind: "scalar" };
type Values = ReadonlyMap<string, Scalar>;

/** The upstreams that it makes, with what they have in the places of `${each.NAME}`; itself where it is no template. */
export function madeOf(template: MapTree, environment: Environment): readonly MapTree[] {
  const each = childOf(template, "each");
  if (each === undefined) return [template];
  const combinations = combinationsOf(each);
  // Its schema tells what is wrong with it, and nothing is said of what depends on it.
  if (combinations === undefined) return [filled(template, new Map(), environment)];
  return combinations.map((values) => filled(template, values, environment));
}

/** Undefined where it is not a mapping of names to lists of texts, or makes too many. */
function combinationsOf(each: Tree): readonly Values[] | undefined {
  let made: readonly Values[] = [new Map()];
  for (const [name, list] of entriesOf(each)) {
    const items = itemsOf(list).filter((item) => item.kind === "scalar");
    if (items.length < itemsOf(list).length || made.length * items.length > MOST_MADE) return undefined;
    made = made.flatMap((values) => items.map((item) => new Map([...values, [name, item]])));
  }
  return entriesOf(each).length === 0 || made.length === 0 ? undefined : made;
}

type Write = (text: string) => string;

/** Names allow fewer characters than values have. */
const slug: Write = (text) => text.replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^[._-]+|-+$/g, "");
const WRITES: ReadonlyMap<string, Write> = new Map([
  ["name", slug],
  ["budget", slug],
  ["path", encodeURIComponent],
]);

/** Without values, what would have one is left out. */
function filled(upstream: MapTree, values: Values, environment: Environment): MapTree {
  const fill = (tree: Tree, write: Write): Tree => {
    if (tree.kind === "list") return { ...tree, items: tree.items.map((item) => fill(item, write)) };
    if (tree.kind === "map") {
      return {
        ...tree,
        entries: new Map([...tree.entries].map(([key, value]) => [key, fill(value, write)])),
      };
    }
    return tree.kind === "scalar" ? filledScalar(tree, values, write, environment) : tree;
  };
  const entries = [...upstream.entries].map(([key, value]): [string, Tree] => [
    key,
    key === "each" ? value : fill(value, WRITES.get(key) ?? String),
  ]);
  return { ...upstream, entries: new Map(entries) };
}

function filledScalar(tree: Scalar, values: Values, write: Write, environment: Environment): Tree {
  const { written, offset, keyOffset } = tree;
  const names = [...(written ?? "").matchAll(EACH)].map(([, name = ""]) => name);
  if (written === undefined || names.length === 0) return tree;
  if (values.size === 0) return { kind: "void", offset, keyOffset };
  const [only] = names;
  const whole = written === `\${each.${only}}` ? values.get(only ?? "") : undefined;
  // A number stays one, where it stands alone.
  if (whole !== undefined && typeof whole.value !== "string") {
    const { written: _, ...plain } = tree;
    return { ...plain, value: write === String ? whole.value : String(whole.value) };
  }
  const inPlace = written.replaceAll(EACH, (reference, name: string) => {
    const value = values.get(name);
    return value === undefined ? reference : write(String(value.value));
  });
  const result = interpolate(inPlace, environment);
  if (result.kind !== "text") return tree;
  const isVariable = names.some((name) => values.get(name)?.interpolated === true);
  return { ...tree, value: result.text, interpolated: result.changed || isVariable, written: inPlace };
}

/** What is still in a config when all is filled in: it stands in the wrong place, or names nothing. */
export function leftOver(tree: Tree, path: Path = []): readonly Complaint[] {
  if (tree.kind === "list") return tree.items.flatMap((item, index) => leftOver(item, [...path, index]));
  if (tree.kind === "map")
    return [...tree.entries].flatMap(([key, value]) => leftOver(value, [...path, key]));
  const [reference] = tree.kind === "scalar" ? (tree.written?.match(EACH) ?? []) : [];
  if (reference === undefined) return [];
  return [complainOfValue(path, `must use only what each of its own upstream lists, received ${reference}`)];
}
