import { z } from "zod";
import type { BodyAssertion, Check, HeaderAssertion, JsonScalar } from "../../core/config/config.ts";
import { JSON_TYPES } from "../../core/exchange/json-value.ts";
import {
  codec,
  filePath,
  filledList,
  flag,
  headerName,
  oneOf,
  pointer,
  section,
  text,
  wholeNumber,
} from "../keys/leaves.ts";
import { inOrder, oneKind, ruled } from "../keys/rules.ts";

const MOST_ITEMS = 100;
const EXISTS = "Whether there must be something at all. This is the check where there is no other.";

const SCALAR_PHRASE = "a text of at most 256 characters, a number, true or false";
const scalar: z.ZodType<JsonScalar, JsonScalar> = z.union([z.string().max(256), z.number(), z.boolean()], {
  error: SCALAR_PHRASE,
});

const bound = z.number({ error: "a number" });
const length = wholeNumber(0, 1_000_000);

const body = section({
  path: pointer('a JSON pointer, such as /data/0/id, or "" for the whole body', { least: 0 }).describe(
    "Where: a JSON pointer (RFC 6901). An empty one is the whole body.",
  ),
  exists: flag().optional().describe(EXISTS),
  equals: scalar.optional().describe("Exactly this: a text, a number, true or false."),
  one_of: filledList(scalar, MOST_ITEMS, "values").optional().describe("Exactly one of these."),
  type: oneOf(JSON_TYPES).optional().describe("Of this type."),
  min: bound.optional().describe("A number, and no smaller."),
  max: bound.optional().describe("A number, and no larger."),
  min_items: length.optional().describe("A list, and no shorter."),
  max_items: length.optional().describe("A list, and no longer."),
  json_schema: filePath("contract")
    .optional()
    .describe(
      "What this file says: a JSON Schema of draft 2020-12, as JSON or YAML. It is read with the config.",
    ),
});

const ONE_BODY_CHECK = oneKind([
  ["exists"],
  ["equals"],
  ["one_of"],
  ["type"],
  ["min", "max"],
  ["min_items", "max_items"],
  ["json_schema"],
]);

export const bodyAssertion: z.ZodType<BodyAssertion> = codec(
  ruled(body, ONE_BODY_CHECK, inOrder("min", "max"), inOrder("min_items", "max_items")),
  {
    decode: ({ path, ...keys }) => ({ path, check: bodyCheck(keys) }),
    encode: ({ path, check }) => ({ path, ...writtenCheck(check) }),
  },
);

function bodyCheck(keys: Omit<z.output<typeof body>, "path">): Check {
  const { exists, equals, one_of, type, min, max, min_items, max_items, json_schema } = keys;
  const values = equals === undefined ? one_of : [equals];
  if (values !== undefined) return { kind: "one_of", values };
  if (type !== undefined) return { kind: "type", type };
  if (min !== undefined || max !== undefined) return { kind: "range", min, max };
  if (min_items !== undefined || max_items !== undefined)
    return { kind: "items", min: min_items, max: max_items };
  if (json_schema !== undefined) return { kind: "json_schema", file: json_schema, read: undefined };
  return { kind: "exists", exists: exists ?? true };
}

const headerKeys = section({
  name: headerName().describe("The header."),
  exists: flag().optional().describe(EXISTS),
  equals: text("a text", 256).optional().describe("Exactly this."),
  one_of: filledList(text("a text", 256), MOST_ITEMS, "values").optional().describe("Exactly one of these."),
  contains: text("a text", 256).optional().describe("A text with this in it, in any case of letters."),
});

export const headerAssertion: z.ZodType<HeaderAssertion> = codec(
  ruled(headerKeys, oneKind([["exists"], ["equals"], ["one_of"], ["contains"]])),
  {
    decode: ({ name, ...keys }) => ({ name: name.toLowerCase(), check: headerCheck(keys) }),
    encode: ({ name, check }) => ({ name, ...writtenCheck(check) }),
  },
);

function headerCheck(keys: Omit<z.output<typeof headerKeys>, "name">): HeaderAssertion["check"] {
  const { exists, equals, one_of, contains } = keys;
  const values = equals === undefined ? one_of : [equals];
  if (values !== undefined) return { kind: "one_of", values };
  if (contains !== undefined) return { kind: "contains", text: contains.toLowerCase() };
  return { kind: "exists", exists: exists ?? true };
}

function writtenCheck(check: Check): object {
  switch (check.kind) {
    case "exists":
      return { exists: check.exists };
    case "one_of":
      return check.values.length === 1 ? { equals: check.values[0] } : { one_of: check.values };
    case "type":
      return { type: check.type };
    case "range":
      return { min: check.min, max: check.max };
    case "items":
      return { min_items: check.min, max_items: check.max };
    case "contains":
      return { contains: check.text };
    case "json_schema":
      return { json_schema: check.file };
    default:
      return check satisfies never;
  }
}
