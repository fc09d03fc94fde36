import { type MapTree, type Tree, childOf, entriesOf, itemsOf } from "../read/tree.ts";
import { SCHEDULE_KEYS } from "../schema/schedule.ts";
import type { UpstreamSchemas } from "../schema/upstream.ts";
import { knownOf } from "../keys/notes.ts";
import type { Environment } from "../read/interpolate.ts";
import { leftOver, madeOf } from "./each.ts";
import { type Complaint, complainOfValue } from "../read/fault.ts";

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
