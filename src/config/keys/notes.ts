/**
 * The schema of a key says more than its type, beside the key: `noted` writes it, and whoever walks a config along its
 * schema reads it. zod knows nothing of it, and it is not in the JSON Schema.
 */

import { z } from "zod";
import type { Path, Step } from "../read/tree.ts";
import type { NameOf } from "../read/wording.ts";

export type Schema = z.core.$ZodType;

/**
 * A rule calls it with the path of what is wrong, from where the rule stands, and a sentence about it. The fault points
 * at the value there; with `key` it points at a key, at that path from there. A sentence that quotes the value is made of
 * `received`, which never shows what could be a secret; one that names another part of the config, of `nameOf`.
 */
export type Refuse = (
  path: Path,
  sentence: string | ((received: string, nameOf: NameOf) => string),
  key?: Path,
  /** Keys of `path`, one of which is missing. */
  lacking?: readonly string[],
) => void;

export type Rule = {
  /** `config` is the whole, for what a key means elsewhere. */
  readonly check: (written: unknown, refuse: Refuse, config: Readonly<Record<string, unknown>>) => void;
  /** The same as JSON Schema, as far as that can say it. */
  readonly jsonSchema?: Readonly<Record<string, unknown>>;
};

export type Notes = {
  readonly rules?: readonly Rule[];
  /** It stands where a variable is not set, so that the rest can be read. Without one, the value is left out. */
  readonly example?: string;
  /** Names, schedules and budgets are made of it: nothing can stand in its place. */
  readonly isNeeded?: true;
  /** What is found there is never shown, nor what is below it. */
  readonly isSecret?: true;
  /** It is where a key is found, by `env` or `file`. */
  readonly isSource?: true;
  /** It is a regular expression. */
  readonly isExpression?: true;
  /** It is the URL that is found where it says. */
  readonly isUrl?: true;
  /** With a key, it says whose that is: two may have the same only by mistake. */
  readonly isUser?: true;
  /** An upstream that has some of its keys has the others from `defaults`. */
  readonly isMerged?: true;
  /** By the name of a key that a mapping had once: write this instead. */
  readonly gone?: Readonly<Record<string, string>>;
  /** It names a file, relative to the config: of which kind, or `written` where Pacewatch writes it. */
  readonly file?: string;
};

const registry = z.registry<Notes>();

export function noted<Noted extends z.ZodType>(schema: Noted, notes: Notes): Noted {
  const own = schema.clone();
  registry.add(own, notes);
  return own;
}

/** A schema without what wraps it, such as `optional`, and what all of these say. */
export type Known = { readonly core: Schema; readonly notes: Notes };

const known = new WeakMap<Schema, Known>();

export function knownOf(schema: Schema): Known {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const layers = layersOf(schema);
  const notes = Object.assign({}, ...layers.map((layer) => registry.get(layer)).reverse());
  const found = { core: layers.at(-1) ?? schema, notes };
  known.set(schema, found);
  return found;
}

function layersOf(schema: Schema): readonly Schema[] {
  if (schema instanceof z.ZodPipe) return [schema, ...layersOf(schema.in)];
  const isWrapper =
    schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault || schema instanceof z.ZodNullable;
  return isWrapper ? [schema, ...layersOf(schema.unwrap())] : [schema];
}

/** The schema of what a mapping or a list of this schema has there; undefined where it can have nothing. */
export function inside(schema: Schema | undefined, step: Step): Schema | undefined {
  if (schema === undefined) return undefined;
  const { core } = knownOf(schema);
  if (core instanceof z.ZodUnion) {
    return core.options.map((option: Schema) => inside(option, step)).find((found) => found !== undefined);
  }
  if (typeof step === "number") return core instanceof z.ZodArray ? core.element : undefined;
  if (core instanceof z.ZodRecord) return core.valueType;
  return core instanceof z.ZodObject && Object.hasOwn(core.shape, step) ? core.shape[step] : undefined;
}

/** Undefined where nothing can be. */
export function schemaAt(schema: Schema, path: Path): Schema | undefined {
  return path.reduce<Schema | undefined>(inside, schema);
}

/** Not by a name that the config chooses. */
export function hasKey(schema: Schema | undefined, key: string): boolean {
  const core = schema && knownOf(schema).core;
  if (core instanceof z.ZodUnion) return core.options.some((option: Schema) => hasKey(option, key));
  return core instanceof z.ZodObject && Object.hasOwn(core.shape, key);
}

/** A schema with alternatives has one for lists, and one for all else. */
function alternativeFor(value: unknown, schema: Schema): Schema {
  const { core } = knownOf(schema);
  if (!(core instanceof z.ZodUnion)) return schema;
  const isList = Array.isArray(value);
  return core.options.find((each: Schema) => knownOf(each).core instanceof z.ZodArray === isList) ?? schema;
}

/** Shows each value that is written, from the outside in, with what is noted of it. */
export function walk(
  schema: Schema,
  written: unknown,
  see: (path: Path, written: unknown, notes: Notes) => void,
  path: Path = [],
): void {
  see(path, written, knownOf(schema).notes);
  const alternative = alternativeFor(written, schema);
  if (alternative !== schema) return walk(alternative, written, see, path);
  if (typeof written !== "object" || written === null) return;
  const parts = Array.isArray(written) ? written.entries() : Object.entries(written);
  for (const [step, part] of parts) {
    const below = inside(schema, step);
    if (below !== undefined) walk(below, part, see, [...path, step]);
  }
}

/** The notes of what is at a path: those of what it is in hold there too, such as that it is secret. */
export function notesAt(schema: Schema, [step, ...rest]: Path): Notes {
  const { notes } = knownOf(schema);
  const below = step === undefined ? undefined : inside(schema, step);
  return below === undefined ? notes : { ...notes, ...notesAt(below, rest) };
}
