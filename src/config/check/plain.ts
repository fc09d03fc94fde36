import { resolve } from "node:path";
import { z } from "zod";
import { withoutDefaults } from "../read/interpolate.ts";
import { type Tree, entriesOf, itemsOf } from "../read/tree.ts";
import { type Schema, inside, knownOf } from "../keys/notes.ts";

/**
 * The values of a tree as its schema takes them: numbers and flags from variables, which are text, and files relative to
 * this directory. What was refused already is there without a value.
 */
export function plainOf(tree: Tree, schema: Schema | undefined, directory: string): unknown {
  switch (tree.kind) {
    case "scalar":
      return schema === undefined ? tree.value : scalarOf(tree, schema, directory);
    case "void":
      return undefined;
    case "list":
      return tree.items.map((item, index) => plainOf(item, inside(schema, index), directory));
    case "map":
      return Object.fromEntries(
        [...tree.entries].map(([key, value]) => [key, plainOf(value, inside(schema, key), directory)]),
      );
    default:
      return tree satisfies never;
  }
}

function scalarOf(
  { value, interpolated }: Extract<Tree, { readonly kind: "scalar" }>,
  schema: Schema,
  directory: string,
): unknown {
  if (typeof value !== "string" || value === "") return value;
  const { core, notes } = knownOf(schema);
  if (notes.file !== undefined) return resolve(directory, value);
  if (!interpolated) return value;
  const isFlag = core instanceof z.ZodBoolean || core instanceof z.ZodLiteral;
  if (isFlag && (value === "true" || value === "false")) return value === "true";
  return takesNumbers(core) && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value) ? Number(value) : value;
}

/** Where a text would do as well, it stays one. */
function takesNumbers(schema: Schema): boolean {
  const { core } = knownOf(schema);
  if (!(core instanceof z.ZodUnion)) return core instanceof z.ZodNumber;
  return core.options.some(takesNumbers) && !core.options.some((option) => option instanceof z.ZodString);
}

/** The values of a tree with their variables in them, which are not filled in. */
export function asWritten(tree: Tree | undefined): unknown {
  if (tree?.kind === "scalar") return tree.written ?? tree.value;
  if (tree?.kind === "list") return itemsOf(tree).map(asWritten);
  return tree && Object.fromEntries(entriesOf(tree).map(([key, value]) => [key, asWritten(value)]));
}

/** The config as it is written, as JSON that anybody may see: one that has a key in it is refused. */
export function shownConfig(tree: Tree): string {
  return JSON.stringify(asWritten(tree), (_, value: unknown) =>
    typeof value === "string" ? withoutDefaults(value) : value,
  );
}
