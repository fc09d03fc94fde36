import { type Path, type Tree, childOf, entriesOf, itemsOf } from "../read/tree.ts";
import { SCHEDULE_KEYS, SHARED_KEYS } from "../schema/upstream.ts";
import { type Complaint, complain } from "./complaint.ts";

const DEFAULTS: Path = ["defaults"];

/** Their keys are independent, so an upstream adds its own. The keys of auth and tls belong together. */
const MERGED_BY_KEY: ReadonlySet<string> = new Set(["headers", "expect", "objective", "labels"]);

/** More would take seconds to check. */
const MAX_VALUES = 500_000;

export type Defaulted = { readonly tree: Tree; readonly complaints: readonly Complaint[] };

/** The same config with `defaults` in each upstream. What comes from there keeps its place in the file. */
export function withDefaults(tree: Tree): Defaulted {
  const [defaults, upstreams] = [childOf(tree, "defaults"), childOf(tree, "upstreams")];
  if (tree.kind !== "map" || defaults === undefined || upstreams?.kind !== "list")
    return { tree, complaints: [] };
  const isTooLarge = valuesIn(defaults) * upstreams.items.length > MAX_VALUES;
  const items = upstreams.items.map((upstream) => {
    if (upstream.kind !== "map") return upstream;
    // What an upstream lacks may be in defaults that cannot be read, so nothing is said about it.
    return defaults.kind === "map" && !isTooLarge ? completed(upstream, defaults) : voidAt(upstream);
  });
  const must = `"defaults" must have at most ${MAX_VALUES} values, counted for each upstream`;
  return {
    tree: { ...tree, entries: new Map([...tree.entries, ["upstreams", { ...upstreams, items }]]) },
    complaints: isTooLarge ? [complain(DEFAULTS, must)] : [],
  };
}

function completed(upstream: Tree & { readonly kind: "map" }, defaults: Tree): Tree {
  // Its own takes the place of either.
  const hasSchedule = SCHEDULE_KEYS.some((key) => upstream.entries.has(key));
  const entries = new Map(upstream.entries);
  for (const [key, shared] of entriesOf(defaults)) {
    // Of a key that is not known, `defaults` itself is told.
    if (!SHARED_KEYS.includes(key) || (hasSchedule && SCHEDULE_KEYS.includes(key))) continue;
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
