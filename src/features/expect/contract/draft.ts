/** What a JSON Schema may have, itself as a JSON Schema: draft 2020-12 without what would have to be fetched or found dynamically. */

import { JSON_TYPES } from "../../../kernel/exchange/json-value.ts";

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

export const DRAFT_RULES: object = {
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
