import { z } from "zod";
import { JSON_TYPES, type JsonScalar, type JsonType } from "../../kernel/exchange/json-value.ts";
import { PARTS, type Part } from "../../kernel/exchange/exchange.ts";
import {
  filePath,
  filledList,
  flag,
  headerName,
  lowered,
  named,
  oneOf,
  pointer,
  section,
  text,
  wholeNumber,
} from "../../config/keys/leaves.ts";
import { noted } from "../../config/keys/notes.ts";
import { atLeastOne, inOrder, oneKind, ruled } from "../../config/keys/rules.ts";

/** What must be true of what stands in one place: one of these. Where none is told, there must be something. */
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

/** A JSON Schema that was checked: JSON, in memory that threads share, and the digest of its file. */
export type Contract = { readonly text: Uint8Array<SharedArrayBuffer>; readonly digest: string };

export type BodyAssertion = Check & {
  /** A JSON pointer, empty for the whole; undefined for the text of the body, JSON or not. */
  readonly path: string | undefined;
  /** Of a stream; absent for the last event. */
  readonly of?: Part | undefined;
  /** A credit stands there: what is found is not told, as it would be in the log. */
  readonly isCredit?: true;
  readonly type?: JsonType | undefined;
  /** Bounds of a number. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Bounds of the length of a list. */
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  /** Its file. */
  readonly jsonSchema?: string | undefined;
  /** What that says. Absent until it is read, and where a config is read without all of its files. */
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

const SCALAR_PHRASE = "a text of at most 256 characters, a number, true or false";
export const scalar: z.ZodType<JsonScalar, JsonScalar> = z.union(
  [z.string().max(256), z.number(), z.boolean()],
  {
    error: SCALAR_PHRASE,
  },
);

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
export const part: z.ZodType<Part | undefined> = oneOf(PARTS)
  .optional()
  .describe(
    "Where in a stream to look. last: in its last event, which is the default. first: in the first event that counts. joined: in the texts of all events that count, one after the other.",
  );

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

export const bodyAssertion: z.ZodType<BodyAssertion> = named(
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

export const headerAssertion: z.ZodType<HeaderAssertion> = named(
  ruled(headerKeys, oneKind([["exists"], ["equals"], ["one_of"], ...TEXTS.map((key) => [key])])),
  {},
);
