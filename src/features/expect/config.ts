import { z } from "zod";
import { JSON_TYPES, type JsonScalar, type JsonType } from "../../kernel/exchange/json-value.ts";
import type { StreamPart } from "../../kernel/exchange/exchange.ts";
import type { Contract } from "./contract/contracts.ts";
import { CONTRACTS } from "./contract/contents.ts";
import { ofBody } from "../../config/schema/request.ts";
import type { Section } from "../../config/schema/section.ts";
import {
  filePath,
  filledList,
  flag,
  headerName,
  list,
  lowered,
  named,
  oneOf,
  part,
  pointer,
  scalar,
  section,
  text,
  wholeNumber,
} from "../../config/keys/leaves.ts";
import { type Rule, noted } from "../../config/keys/notes.ts";
import { atLeastOne, inOrder, itemsOf, mappingOf, oneKind, ruled } from "../../config/keys/rules.ts";

/** One of these must be true of one place. Where none is told, there must be something. */
type Check = {
  readonly exists?: boolean | undefined;
  readonly equals?: JsonScalar | undefined;
  readonly oneOf?: readonly JsonScalar[] | undefined;
  /** These two in lower case. */
  readonly contains?: string | undefined;
  readonly lacks?: string | undefined;
  /** An expression in the syntax of RE2. */
  readonly matches?: string | undefined;
};

export type BodyAssertion = Check & {
  /** A JSON pointer, empty for the whole; undefined for the text of the body, JSON or not. */
  readonly path: string | undefined;
  /** The part of a stream; absent for the last event. */
  readonly of?: StreamPart | undefined;
  readonly type?: JsonType | undefined;
  /** Bounds of a number. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Bounds of the length of a list. */
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  /** Its file. */
  readonly jsonSchema?: string | undefined;
  /** The schema in it. Absent until it is read, and where a config is read without all of its files. */
  readonly contract?: Contract | undefined;
};

/** The name is in lower case. */
export type HeaderAssertion = Check & { readonly name: string };

declare module "../../kernel/config/config.ts" {
  interface Expectation {
    /** These are absent where the operator tells of none. */
    readonly body?: readonly BodyAssertion[] | undefined;
    readonly headers?: readonly HeaderAssertion[] | undefined;
  }
}

const MOST_ITEMS = 100;
const EXISTS = "Whether there must be something at all. This is the check where there is no other.";

const bound = z.number({ error: "a number" });
const length = wholeNumber(0, 1_000_000);

const aText = lowered(text("a text", 256));
const texts = {
  contains: aText.optional().describe("A text with this in it, in any case of letters."),
  lacks: aText.optional().describe("A text without this in it, in any case of letters."),
  matches: noted(text("an expression", 512), { isExpression: true })
    .optional()
    .describe(
      "A text in which this regular expression is found, in the syntax of RE2: it takes a time that grows with the text and no faster. (?i) at its beginning ignores the case of letters.",
    ),
};
const TEXTS = ["contains", "lacks", "matches"] as const;
const body = section({
  path: pointer('a JSON pointer, such as /data/0/id, or "" for the whole body', { least: 0 })
    .optional()
    .describe(
      "Where: a JSON pointer (RFC 6901). An empty one is the whole JSON. Without it, contains, lacks and matches look at the text of the body, whatever its type.",
    ),
  of: part,
  exists: flag().optional().describe(EXISTS),
  equals: scalar.optional().describe("Exactly this: a text, a number, true or false."),
  one_of: filledList(scalar, MOST_ITEMS, "values").optional().describe("Exactly one of these."),
  type: oneOf(JSON_TYPES).optional().describe("Of this type."),
  min: bound.optional().describe("A number, and no smaller."),
  max: bound.optional().describe("A number, and no larger."),
  min_items: length.optional().describe("A list, and no shorter."),
  max_items: length.optional().describe("A list, and no longer."),
  ...texts,
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
  ...TEXTS.map((key) => [key]),
  ["json_schema"],
]);

/** Without a path, it is about the whole text. */
const PATH_OR_TEXT = atLeastOne("path", ...TEXTS);

const bodyAssertion: z.ZodType<BodyAssertion> = named(
  ruled(body, PATH_OR_TEXT, ONE_BODY_CHECK, inOrder("min", "max"), inOrder("min_items", "max_items")),
  {},
);

const headerKeys = section({
  name: lowered(headerName()).describe("The header."),
  exists: flag().optional().describe(EXISTS),
  equals: text("a text", 256).optional().describe("Exactly this."),
  one_of: filledList(text("a text", 256), MOST_ITEMS, "values").optional().describe("Exactly one of these."),
  ...texts,
});

const headerAssertion: z.ZodType<HeaderAssertion> = named(
  ruled(headerKeys, oneKind([["exists"], ["equals"], ["one_of"], ...TEXTS.map((key) => [key])])),
  {},
);

const noPathWithoutJson: Rule = {
  check: (expect, refuse) => {
    const { json, body } = mappingOf(expect);
    if (json !== false) return;
    for (const [index, assertion] of itemsOf(body).entries()) {
      if (!Object.hasOwn(mappingOf(assertion), "path")) continue;
      refuse(["body", index, "path"], "must not be set where json is false", []);
    }
  },
  jsonSchema: {
    not: {
      required: ["json", "body"],
      properties: { json: { const: false }, body: { contains: { required: ["path"] } } },
    },
  },
};

const MOST_ASSERTIONS = 20;

export const EXPECT: readonly Section[] = [
  {
    at: "expect",
    shape: {
      body: list(bodyAssertion, MOST_ASSERTIONS, "assertions", ", such as - { path: /id, type: string }")
        .optional()
        .describe(
          "What the body of an ok answer must say, place by place, or its whole text; the first that does not hold fails the poll. Not asked of 204 and 304.",
        ),
      headers: list(
        headerAssertion,
        MOST_ASSERTIONS,
        "assertions",
        ', such as - { name: X-Version, equals: "2" }',
      )
        .optional()
        .describe(
          "What the headers of an ok answer must say. The values found are never kept or shown, as they may be secret.",
        ),
    },
    rules: [noPathWithoutJson],
    contents: CONTRACTS,
  },
  { at: "upstream", shape: {}, rules: [ofBody("expect", "body")] },
];
