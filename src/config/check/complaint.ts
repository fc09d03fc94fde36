import type { Fault } from "../read/fault.ts";
import { type Path, type Tree, nearestTo, treeAt } from "../read/tree.ts";
import type { PlaceOf } from "../read/yaml-walk.ts";

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

/** About a value that was refused already, nothing more is said. */
export function faultOf(
  { path, atKey, message }: Complaint,
  tree: Tree,
  file: string,
  placeOf: PlaceOf,
): Fault | undefined {
  const nearest = nearestTo(tree, path);
  if (nearest.kind === "void") return undefined;
  const isMissing = treeAt(tree, path) === undefined;
  const isEmpty = nearest.kind === "scalar" && nearest.value === null;
  const offset = atKey || isMissing || isEmpty ? nearest.keyOffset : nearest.offset;
  return { file, ...placeOf(offset), message };
}
