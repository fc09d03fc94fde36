/** A config as it was written: values with their places. */

export type Step = string | number;
export type Path = readonly Step[];

export type Tree = {
  /** Where the value starts, in characters from the beginning of the file. */
  readonly offset: number;
  /** Where its key starts; the value's own start in a list. */
  readonly keyOffset: number;
} & (
  | {
      readonly kind: "scalar";
      readonly value: unknown;
      readonly interpolated: boolean;
      /** With its variables. Absent where it has none. */
      readonly written?: string;
      /** What is written, where its variable is not set and an example stands for it: a fault of it has been told, or is none. */
      readonly standsFor?: string;
    }
  | { readonly kind: "list"; readonly items: readonly Tree[] }
  /** Something was refused here already: nothing more is said about it. */
  | { readonly kind: "void" }
  | { readonly kind: "map"; readonly entries: ReadonlyMap<string, Tree> }
);

export type MapTree = Tree & { readonly kind: "map" };

export function treeAt(tree: Tree, path: Path): Tree | undefined {
  let current: Tree | undefined = tree;
  for (const step of path) current = current === undefined ? undefined : childOf(current, step);
  return current;
}

/** The deepest value that exists on this path: where to point at for something that is missing. */
export function nearestTo(tree: Tree, path: Path): Tree {
  let current = tree;
  for (const step of path) {
    const child = childOf(current, step);
    if (child === undefined) return current;
    current = child;
  }
  return current;
}

export function childOf(tree: Tree, step: string | number): Tree | undefined {
  if (tree.kind === "map") return tree.entries.get(String(step));
  return tree.kind === "list" && typeof step === "number" ? tree.items[step] : undefined;
}

export function entriesOf(tree: Tree | undefined): readonly (readonly [string, Tree])[] {
  return tree?.kind === "map" ? [...tree.entries] : [];
}

export function itemsOf(tree: Tree | undefined): readonly Tree[] {
  return tree?.kind === "list" ? tree.items : [];
}
