import { type MapTree, type Tree, childOf, entriesOf, itemsOf } from "../read/tree.ts";
import { SCHEDULE_KEYS } from "../schema/schedule.ts";
import { SHARED_KEYS } from "../schema/upstream.ts";
import type { Environment } from "../read/interpolate.ts";
import { leftOver, madeOf } from "./each.ts";
import { type Complaint, complainOfValue } from "./faults.ts";

/** Their keys are independent, so an upstream adds its own. The keys of auth and tls belong together. */
const MERGED_BY_KEY: ReadonlySet<string> = new Set(["headers", "expect", "objective", "labels", "links"]);

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
export function expanded(tree: Tree, environment: Environment): Expanded {
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
      written.kind !== "map" ? written : isKnown ? completed(written, defaults) : voidAt(written);
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

function completed(upstream: MapTree, defaults: Tree | undefined): MapTree {
  // Its own takes the place of either.
  const hasSchedule = SCHEDULE_KEYS.some((key) => upstream.entries.has(key));
  const entries = new Map(upstream.entries);
  for (const [key, shared] of entriesOf(defaults)) {
    // A key that is not known is refused where it stands in `defaults`.
    if (!SHARED_KEYS.includes(key) || (hasSchedule && SCHEDULE_KEYS.some((each) => each === key))) continue;
    const own = entries.get(key);
    if (own === undefined) entries.set(key, shared);
    else if (MERGED_BY_KEY.has(key)) entries.set(key, mergedByKey(own, shared, key === "headers"));
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
