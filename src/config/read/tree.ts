/** A config as it was written: values with their places. */

export type Path = readonly (string | number)[];

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
    }
  | { readonly kind: "list"; readonly items: readonly Tree[] }
  /** Something was refused here already: nothing more is said about it. */
  | { readonly kind: "void" }
  | { readonly kind: "map"; readonly entries: ReadonlyMap<string, Tree> }
);

/** Plain values, free to be changed. */
export function plainOf(tree: Tree): unknown {
  switch (tree.kind) {
    case "scalar":
      return tree.value;
    case "void":
      return undefined;
    case "list":
      return tree.items.map((item) => plainOf(item));
    case "map":
      return Object.fromEntries(
        [...tree.entries]
          .filter(([, value]) => value.kind !== "void")
          .map(([key, value]) => [key, plainOf(value)]),
      );
    default:
      return tree satisfies never;
  }
}

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

/** The text at this path; undefined where there is something else. */
export function textAt(tree: Tree | undefined, ...path: Path): string | undefined {
  const found = tree === undefined ? undefined : treeAt(tree, path);
  return found?.kind === "scalar" && typeof found.value === "string" ? found.value : undefined;
}

/** A flag from a variable is text. */
export function flagAt(tree: Tree | undefined, ...path: Path): boolean | undefined {
  const found = tree === undefined ? undefined : treeAt(tree, path);
  if (found?.kind !== "scalar") return undefined;
  if (found.value === true || (found.interpolated && found.value === "true")) return true;
  return found.value === false || (found.interpolated && found.value === "false") ? false : undefined;
}
