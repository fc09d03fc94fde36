import { resolve } from "node:path";
import { z } from "zod";
import type { BodyAssertion, HeaderAssertion, JsonScalar } from "../../core/config/config.ts";
import { JSON_TYPES } from "../../core/exchange/json-value.ts";
import { HEADER_NAME_PATTERN } from "./credential-signs.ts";
import { filePath, flag, matching, oneOf, section, text, wholeNumber } from "./leaves.ts";

/** The keys of each kind of check: an assertion is of one kind. */
export const BODY_CHECKS: readonly (readonly string[])[] = [
  ["exists"],
  ["equals"],
  ["one_of"],
  ["type"],
  ["min", "max"],
  ["min_items", "max_items"],
  ["json_schema"],
];
export const HEADER_CHECKS: readonly (readonly string[])[] = [
  ["exists"],
  ["equals"],
  ["one_of"],
  ["contains"],
];

/** For the JSON Schema: no two keys of different kinds. */
function oneKind(kinds: readonly (readonly string[])[]): Record<string, unknown> {
  const pairs = kinds.flatMap((keys, at) =>
    kinds.slice(at + 1).flatMap((others) => keys.flatMap((key) => others.map((other) => [key, other]))),
  );
  return { not: { anyOf: pairs.map((required) => ({ required })) } };
}

const POINTER_PATTERN = /^(?:\/(?:[^~/]|~[01]){0,64}){0,16}$/;
const MOST_ITEMS = 100;
const EXISTS = "Whether there must be something at all. This is the check where there is no other.";

const SCALAR_PHRASE = "a text of at most 256 characters, a number, true or false";
const scalar: z.ZodType<JsonScalar, JsonScalar> = z.union([z.string().max(256), z.number(), z.boolean()], {
  error: SCALAR_PHRASE,
});

function alternatives<Value>(value: z.ZodType<Value, Value>): z.ZodType<readonly Value[], readonly Value[]> {
  return z
    .array(value, { error: "a list of values" })
    .min(1, { error: "a list of at least one value" })
    .max(MOST_ITEMS, { error: `a list of at most ${MOST_ITEMS} values` });
}

const bound = z.number({ error: "a number" });
const length = wholeNumber(0, 1_000_000);

const bodyKeys = section({
  path: matching(POINTER_PATTERN, 'a JSON pointer, such as /data/0/id, or "" for the whole body').describe(
    "Where: a JSON pointer (RFC 6901). An empty one is the whole body.",
  ),
  exists: flag().optional().describe(EXISTS),
  equals: scalar.optional().describe("Exactly this: a text, a number, true or false."),
  one_of: alternatives(scalar).optional().describe("Exactly one of these."),
  type: oneOf(JSON_TYPES).optional().describe("Of this type."),
  min: bound.optional().describe("A number, and no smaller."),
  max: bound.optional().describe("A number, and no larger."),
  min_items: length.optional().describe("A list, and no shorter."),
  max_items: length.optional().describe("A list, and no longer."),
  json_schema: filePath()
    .optional()
    .describe(
      "What this file says: a JSON Schema of draft 2020-12, as JSON or YAML. It is read with the config.",
    ),
}).meta(oneKind(BODY_CHECKS));

const headerKeys = section({
  name: matching(HEADER_NAME_PATTERN, "a header's name").describe("The header."),
  exists: flag().optional().describe(EXISTS),
  equals: text("a text", 256).optional().describe("Exactly this."),
  one_of: alternatives(text("a text", 256)).optional().describe("Exactly one of these."),
  contains: text("a text", 256).optional().describe("A text with this in it, in any case of letters."),
}).meta(oneKind(HEADER_CHECKS));

export const bodyAssertion: z.ZodType<BodyAssertion> = bodyKeys.transform(
  ({ path, exists, equals, one_of, type, min, max, min_items, max_items, json_schema }): BodyAssertion => {
    if (equals !== undefined) return { path, check: { kind: "one_of", values: [equals] } };
    if (one_of !== undefined) return { path, check: { kind: "one_of", values: one_of } };
    if (type !== undefined) return { path, check: { kind: "type", type } };
    if (min !== undefined || max !== undefined) return { path, check: { kind: "range", min, max } };
    if (min_items !== undefined || max_items !== undefined)
      return { path, check: { kind: "items", min: min_items, max: max_items } };
    if (json_schema !== undefined)
      return { path, check: { kind: "json_schema", file: json_schema, read: undefined } };
    return { path, check: { kind: "exists", exists: exists ?? true } };
  },
);

/** Its file is named from where the config is. */
export function assertionIn(directory: string, assertion: BodyAssertion): BodyAssertion {
  const { check } = assertion;
  if (check.kind !== "json_schema") return assertion;
  return { ...assertion, check: { ...check, file: resolve(directory, check.file) } };
}

export const headerAssertion: z.ZodType<HeaderAssertion> = headerKeys.transform(
  ({ name: written, exists, equals, one_of, contains }): HeaderAssertion => {
    const name = written.toLowerCase();
    const values = equals === undefined ? one_of : [equals];
    if (values !== undefined) return { name, check: { kind: "one_of", values } };
    if (contains !== undefined) return { name, check: { kind: "contains", text: contains.toLowerCase() } };
    return { name, check: { kind: "exists", exists: exists ?? true } };
  },
);
