/** Reads JSON Schemas: what is wrong with one, each fault with its place. What is not known is refused, never left out. */

import type { Schema } from "@cfworker/json-schema";
import { isList, isObject } from "../../../kernel/text/json.ts";
import { messageOf } from "../../../kernel/text/escape.ts";
import { wordSet } from "../../../kernel/text/word-set.ts";
import { DRAFT, isInner, type Known, stepsOf, writtenOf } from "./contracts.ts";
import { ruleInWords } from "./words.ts";
import { JSON_TYPES } from "../../../kernel/exchange/json-value.ts";

type Path = readonly string[];

export type SchemaFault = {
  readonly path: Path;
  /** Whether its key is wrong, not its value. */
  readonly atKey: boolean;
  /** Continues a sentence that begins with the name of the place. */
  readonly message: string;
};

export type SchemaReading =
  /** `formats`: where `format` is, which the draft has as a remark, not as a rule. */
  | { readonly kind: "read"; readonly text: Uint8Array<SharedArrayBuffer>; readonly formats: readonly Path[] }
  | { readonly kind: "refused"; readonly faults: readonly SchemaFault[] };

type Library = typeof import("@cfworker/json-schema");
type SubSchema = { readonly path: Path; readonly schema: Schema };

/** So many schemas may be about one value, one because of the other. */
const MOST_IN_A_ROW = 100;

/** They say nothing that must hold, and the library would take some of them for rules. */
const REMARKS = wordSet(
  `$id title description $comment default examples deprecated readOnly writeOnly format contentEncoding contentMediaType
  contentSchema`,
);

const NO_DYNAMIC = "is not known here: write $ref";

const REFUSED: ReadonlyMap<string, string> = new Map([
  ["$dynamicRef", NO_DYNAMIC],
  ["$dynamicAnchor", "is not known here: write $anchor"],
  ["$recursiveRef", NO_DYNAMIC],
  ["nullable", 'is not of draft 2020-12: write type: [TYPE, "null"]'],
  ["dependencies", "is not of draft 2020-12: write dependentRequired or dependentSchemas"],
  ["additionalItems", "is not of draft 2020-12: write prefixItems and items"],
]);

export async function openSchemaReader(): Promise<(document: unknown) => SchemaReading> {
  const library = await import("@cfworker/json-schema");
  return (document) => {
    try {
      return read(JSON.parse(JSON.stringify(document ?? null)), library);
    } catch (error) {
      return { kind: "refused", faults: [valueFault([], `cannot be read: ${messageOf(error)}`)] };
    }
  };
}

function read(schema: Schema | boolean, library: Library): SchemaReading {
  const ofDraft = faultsOfDraft(schema, library);
  if (ofDraft.length > 0) return { kind: "refused", faults: ofDraft };
  const parts = [...subSchemasOf(schema, [], library)];
  const formats = parts.filter(({ schema: { format } }) => format !== undefined);
  const anchors = new Set<string>();
  const faults = parts.flatMap((part) => [...faultsOfSubSchema(part, anchors)]);
  for (const part of parts) for (const key of REMARKS) Reflect.deleteProperty(part.schema, key);
  const known = { schema, parts: library.dereference(schema) };
  const lost = parts.filter(
    (part) => part.schema.$ref !== undefined && targetOf(part.schema, known) === undefined,
  );
  for (const { path } of lost) {
    const must = "must lead to a schema of this file, such as #/$defs/item: no other is read";
    faults.push(valueFault([...path, "$ref"], must));
  }
  const loop = faults.length === 0 ? firstLoop(parts, known) : undefined;
  if (loop !== undefined) {
    const must = `must not lead through itself, or through more than ${MOST_IN_A_ROW} schemas, back to the same value`;
    faults.push(valueFault(loop.path, must));
  }
  if (faults.length > 0) return { kind: "refused", faults };
  return {
    kind: "read",
    text: shared(JSON.stringify(schema)),
    formats: formats.map(({ path }) => [...path, "format"]),
  };
}

function valueFault(path: Path, message: string): SchemaFault {
  return { path, atKey: false, message };
}

function faultsOfDraft(schema: unknown, { dereference, validate }: Library): readonly SchemaFault[] {
  const draft: Known = { schema: DRAFT_RULES, parts: dereference(DRAFT_RULES) };
  const { errors } = validate(schema, DRAFT_RULES, DRAFT, draft.parts, false);
  return errors.filter(isInner).map((error) => {
    const path = stepsOf(error.instanceLocation);
    if (error.keyword !== "false") {
      return valueFault(path, `must be ${ruleInWords(error.keyword, writtenOf(error, draft))}`);
    }
    const message = REFUSED.get(path.at(-1) ?? "") ?? "is not a keyword that is known here";
    return { path, atKey: true, message };
  });
}

/** All schemas in it, itself included. */
function* subSchemasOf(schema: unknown, path: Path, library: Library): Generator<SubSchema> {
  if (!isObject(schema)) return;
  yield { path, schema };
  for (const [key, inner] of Object.entries(schema)) {
    const isOfMany =
      library.schemaMapKeyword[key] ?? (library.schemaArrayKeyword[key] === true && isList(inner));
    const inners: readonly (readonly [Path, unknown])[] =
      isOfMany && typeof inner === "object" && inner !== null
        ? Object.entries(inner).map(([name, each]) => [[key, name], each])
        : library.schemaKeyword[key] === true
          ? [[[key], inner]]
          : [];
    for (const [steps, each] of inners) yield* subSchemasOf(each, [...path, ...steps], library);
  }
}

function* faultsOfSubSchema({ path, schema }: SubSchema, anchors: Set<string>): Generator<SchemaFault> {
  const { $id, $anchor, pattern, patternProperties = {} } = schema;
  if ($id !== undefined && path.length > 0) {
    yield valueFault([...path, "$id"], "must stand only at the beginning of the file");
  }
  if ($anchor !== undefined && anchors.has($anchor)) {
    yield valueFault([...path, "$anchor"], "must be a name of its own");
  }
  if ($anchor !== undefined) anchors.add($anchor);
  const expressions = Object.keys(patternProperties).map((each) => ({
    at: ["patternProperties", each],
    each,
  }));
  if (pattern !== undefined) expressions.push({ at: ["pattern"], each: pattern });
  for (const { at, each } of expressions) {
    const fault = expressionFault(each);
    if (fault !== undefined)
      yield valueFault([...path, ...at], `must be an expression of JavaScript: ${fault}`);
  }
}

function expressionFault(expression: string): string | undefined {
  try {
    return void new RegExp(expression, "u");
  } catch (error) {
    return messageOf(error);
  }
}

function targetOf({ __absolute_ref__: address }: Schema, { parts }: Known): Schema | boolean | undefined {
  return address === undefined ? undefined : parts[address];
}

/** A schema that is about a value because of itself would be judged without end. */
function firstLoop(parts: readonly SubSchema[], known: Known): SubSchema | undefined {
  const sound = new Set<Schema>();
  const above = new Set<Schema>();
  const leadsToItself = (schema: Schema | boolean | undefined): boolean => {
    if (typeof schema !== "object" || sound.has(schema)) return false;
    if (above.has(schema) || above.size > MOST_IN_A_ROW) return true;
    above.add(schema);
    const leads = schemasOfSameValue(schema, known).some(leadsToItself);
    above.delete(schema);
    if (!leads) sound.add(schema);
    return leads;
  };
  return parts.find(({ schema }) => leadsToItself(schema));
}

function schemasOfSameValue(schema: Schema, known: Known): readonly (Schema | boolean | undefined)[] {
  const { allOf = [], anyOf = [], oneOf = [], dependentSchemas = {}, not } = schema;
  const several = [...allOf, ...anyOf, ...oneOf, ...Object.values(dependentSchemas)];
  return [...several, not, schema.if, schema.then, schema.else, targetOf(schema, known)];
}

/** Threads read it where it is: it may be large, and is needed with each answer. */
function shared(text: string): Uint8Array<SharedArrayBuffer> {
  const bytes = new TextEncoder().encode(text);
  const memory = new Uint8Array(new SharedArrayBuffer(bytes.length));
  memory.set(bytes);
  return memory;
}

const NAME = "https://json-schema.org/draft/2020-12/schema";

const ANY = {};
const TEXT = { type: "string" };
const NUMBER = { type: "number" };
const COUNT = { type: "integer", minimum: 0 };
const NAMES = { type: "array", items: TEXT };
const SCHEMA = { $ref: "#" };
const SCHEMAS = { type: "array", minItems: 1, items: SCHEMA };
const BY_NAME = { type: "object", additionalProperties: SCHEMA };
const ONE_TYPE = { enum: JSON_TYPES };

function all(keys: string, rule: object): object {
  return Object.fromEntries(keys.split(" ").map((key) => [key, rule]));
}

const DRAFT_RULES: object = {
  type: ["object", "boolean"],
  properties: {
    $schema: { enum: [NAME, `${NAME}#`] },
    $anchor: { type: "string", pattern: "^[A-Za-z_][\\w.-]*$" },
    type: { if: { type: "array" }, else: ONE_TYPE, items: ONE_TYPE, minItems: 1 },
    enum: { type: "array" },
    multipleOf: { type: "number", exclusiveMinimum: 0 },
    uniqueItems: { type: "boolean" },
    required: NAMES,
    dependentRequired: { type: "object", additionalProperties: NAMES },
    ...all("const default examples deprecated readOnly writeOnly contentSchema", ANY),
    ...all("title description $comment $id $ref pattern format contentEncoding contentMediaType", TEXT),
    ...all("minimum maximum exclusiveMinimum exclusiveMaximum", NUMBER),
    ...all(
      "minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties",
      COUNT,
    ),
    ...all("additionalProperties propertyNames items contains not if then else", SCHEMA),
    ...all("unevaluatedItems unevaluatedProperties", SCHEMA),
    ...all("prefixItems allOf anyOf oneOf", SCHEMAS),
    ...all("$defs definitions properties patternProperties dependentSchemas", BY_NAME),
  },
  additionalProperties: false,
};
