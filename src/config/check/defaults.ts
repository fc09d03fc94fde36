import { type MapTree, type Tree, childOf, entriesOf, itemsOf, type Path } from "../read/tree.ts";
import { SCHEDULE_KEYS } from "../schema/schedule.ts";
import type { UpstreamSchemas } from "../schema/upstream.ts";
import { knownOf } from "../keys/notes.ts";
import { type Environment, EACH, interpolate } from "../read/interpolate.ts";
import { type Complaint, complainOfValue } from "../read/fault.ts";
import { MOST_MADE } from "../schema/each.ts";

/** More would take many seconds to check. */
const MAX_VALUES = 600_000;

export type Expanded = {
  readonly tree: Tree;
  readonly complaints: readonly Complaint[];
  /** Which upstream of the file each one of the tree is made of. */
  readonly writtenAt: readonly number[];
};

/**
 * The same config with `defaults` in each upstream, and instead of one with `each` those that it makes. What comes from
 * elsewhere keeps its place in the file.
 */
export function expanded(tree: Tree, environment: Environment, schema: UpstreamSchemas): Expanded {
  const [defaults, upstreams] = [childOf(tree, "defaults"), childOf(tree, "upstreams")];
  if (tree.kind !== "map" || upstreams?.kind !== "list") return { tree, complaints: [], writtenAt: [] };
  const complaints: Complaint[] = [];
  const items: Tree[] = [];
  const writtenAt: number[] = [];
  let valuesLeft = MAX_VALUES;
  const add = (upstream: Tree, at: number): void => {
    valuesLeft -= valuesIn(upstream);
    if (valuesLeft < 0) return;
    items.push(upstream);
    writtenAt.push(at);
  };
  // An upstream may have from defaults that cannot be read what it seems to lack, so nothing is said about it.
  const isKnown = defaults === undefined || defaults.kind === "map";
  for (const [index, written] of upstreams.items.entries()) {
    const template =
      written.kind !== "map" ? written : isKnown ? completed(written, defaults, schema) : voidAt(written);
    const made = template.kind === "map" ? madeOf(template, environment) : [];
    if (made.length === 0) add(template, index);
    for (const upstream of made) add(upstream, index);
  }
  if (valuesLeft < 0) {
    const must = `must be fewer: with all that they have from defaults and each, a config may have at most ${MAX_VALUES} values`;
    complaints.push(complainOfValue(["upstreams"], must));
    // To check the others would take seconds, for a config that is refused.
    items.length = 1;
  }
  const all: Tree = {
    ...tree,
    entries: new Map([...tree.entries, ["upstreams", { ...upstreams, items }]]),
  };
  return { tree: all, complaints: [...complaints, ...leftOver(all)], writtenAt };
}

function completed(upstream: MapTree, defaults: Tree | undefined, { shared }: UpstreamSchemas): MapTree {
  // Its own takes the place of either.
  const hasSchedule = SCHEDULE_KEYS.some((key) => upstream.entries.has(key));
  const entries = new Map(upstream.entries);
  for (const [key, value] of entriesOf(defaults)) {
    const schema = shared[key];
    // A key that is not known is refused where it stands in `defaults`.
    if (schema === undefined || (hasSchedule && SCHEDULE_KEYS.some((each) => each === key))) continue;
    const own = entries.get(key);
    if (own === undefined) entries.set(key, value);
    else if (knownOf(schema).notes.isMerged) entries.set(key, mergedByKey(own, value, key === "headers"));
  }
  return { ...upstream, entries };
}

function mergedByKey(own: Tree, shared: Tree, isCaseIgnored: boolean): Tree {
  if (own.kind !== "map" || shared.kind !== "map") return own;
  const folded = (key: string): string => (isCaseIgnored ? key.toLowerCase() : key);
  const taken = new Set([...own.entries.keys()].map(folded));
  const added = [...shared.entries].filter(([key]) => !taken.has(folded(key)));
  return { ...own, entries: new Map([...own.entries, ...added]) };
}

function valuesIn(tree: Tree): number {
  const parts = tree.kind === "map" ? entriesOf(tree).map(([, value]) => value) : itemsOf(tree);
  return parts.reduce((sum, part) => sum + valuesIn(part), 1);
}

function voidAt({ offset, keyOffset }: Tree): Tree {
  return { kind: "void", offset, keyOffset };
}

type Scalar = Tree & { readonly kind: "scalar" };
type Values = ReadonlyMap<string, Scalar>;

/** The upstreams that it makes, with what they have in the places of `${each.NAME}`; itself where it is no template. */
function madeOf(template: MapTree, environment: Environment): readonly MapTree[] {
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
  const isVariable =
    result.values.length > 0 || names.some((name) => values.get(name)?.interpolated === true);
  return { ...tree, value: result.text, interpolated: isVariable, written: inPlace };
}

/** A reference that is still there when all is filled in stands in the wrong place, or names nothing. */
function leftOver(tree: Tree, path: Path = []): readonly Complaint[] {
  if (tree.kind === "list") return tree.items.flatMap((item, index) => leftOver(item, [...path, index]));
  if (tree.kind === "map")
    return [...tree.entries].flatMap(([key, value]) => leftOver(value, [...path, key]));
  const [reference] = tree.kind === "scalar" ? (tree.written?.match(EACH) ?? []) : [];
  if (reference === undefined) return [];
  return [
    complainOfValue(path, `must use only lists under "each" of the same upstream, received ${reference}`),
  ];
}
