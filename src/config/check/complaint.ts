import type { Fault } from "../read/fault.ts";
import { type Path, nearestTo, treeAt } from "../read/tree.ts";
import type { YamlReading } from "../read/yaml.ts";

/** Something that is wrong at a path; its place is found in the tree. */
export type Complaint = {
  readonly path: Path;
  /** Whether to point at the key instead of its value. */
  readonly atKey: boolean;
  readonly message: string;
};

export function complain(path: Path, message: string): Complaint {
  return { path, atKey: false, message };
}

export function complainOfKey(path: Path, message: string): Complaint {
  return { path, atKey: true, message };
}

/** An alias, a merge key (<<) or `defaults` shows one value in many upstreams. */
const UPSTREAM = /upstreams\[\d+\]|defaults/g;

/** Nothing more is said about a value that was refused already, and of a shared value everything once. */
export function faultsOf(
  complaints: readonly Complaint[],
  { tree, file, placeOf }: YamlReading,
): readonly Fault[] {
  if (tree === undefined) return [];
  const said = new Set<string>();
  return complaints.flatMap(({ path, atKey, message }) => {
    const nearest = nearestTo(tree, path);
    if (nearest.kind === "void") return [];
    const isMissing = treeAt(tree, path) === undefined;
    const isEmpty = nearest.kind === "scalar" && nearest.value === null;
    const offset = atKey || isMissing || isEmpty ? nearest.keyOffset : nearest.offset;
    const what = `${offset} ${message.replaceAll(UPSTREAM, "")}`;
    if (said.has(what)) return [];
    said.add(what);
    return [{ file, ...placeOf(offset), message }];
  });
}
