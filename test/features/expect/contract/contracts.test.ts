import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { librariesFor } from "../../../../src/app/features/judging.ts";
import { openContracts, type Contract } from "../../../../src/features/expect/contract/contracts.ts";
import { openSchemaReader } from "../../../../src/features/expect/contract/schema-reader.ts";
import type { Expectation } from "../../../../src/kernel/config/config.ts";
import type { BodyAssertion } from "../../../../src/features/expect/config.ts";
import { judgeExchange } from "../../../support/judged.ts";

const read = await openSchemaReader();
const CONTRACTS = await openContracts();
const LIBRARIES = await librariesFor({
  expect: {
    status: [200],
    json: true,
    maxBodyBytes: 1,
    body: [{ path: "", jsonSchema: "contract.json" }],
  },
});

function contractOf(written: unknown): Contract {
  const reading = read(written);
  if (reading.kind === "refused") throw new Error(JSON.stringify(reading.faults));
  return { text: reading.text, digest: JSON.stringify(written) };
}

function judged(
  written: unknown,
  body: string,
  path = "",
  withoutKeys: (text: string) => string = String,
): string {
  const contract = contractOf(written);
  return judgedBy({ path, jsonSchema: "contract.json", contract }, body, withoutKeys);
}

function judgedBy(
  assertion: BodyAssertion,
  text: string,
  withoutKeys: (text: string) => string = String,
  unshown: readonly string[] = [],
): string {
  const body = [assertion];
  const expected: Expectation = { status: [200], json: true, maxBodyBytes: 1_048_576, body, unshown };
  const exchange = {
    kind: "answered",
    head: { status: 200, reasonPhrase: "", headers: [] },
    body: new TextEncoder().encode(text),
  } as const;
  const { outcome, detail } = judgeExchange(exchange, expected, undefined, withoutKeys, LIBRARIES);
  return outcome.kind === "failed" ? `${outcome.reason}: ${detail}` : outcome.kind;
}

function said(written: unknown, value: unknown): string {
  return judged(written, JSON.stringify(value)).replace("assertion: answered 200, but ", "");
}

describe("an answer that keeps its contract is ok", () => {
  test.each<[string, unknown, unknown]>([
    ["true", true, null],
    ["a float that is a multiple by its digits", { multipleOf: 0.01 }, 19.99],
    ["an integer beyond 1e15", { multipleOf: 3 }, 9_007_199_254_740_990],
    ["the largest numbers", { multipleOf: 0.5, minimum: 1e308, maximum: 1e308 }, 1e308],
    ["a number that is whole", { type: "integer" }, 3],
    ["a text counted by characters", { minLength: 2, maxLength: 2 }, "\u{1f600}\u{1f600}"],
    ["equal objects in another order", { const: { a: 1, b: [null] } }, { b: [null], a: 1 }],
    ["a property that Object has", { properties: { toString: false } }, {}],
    [
      "items that only look alike",
      { uniqueItems: true },
      [1, "1", [1], ["1"], "[1]", { a: 1 }, { a: "1" }, null, "null"],
    ],
    [
      "what contains lists as seen",
      { prefixItems: [true], contains: { type: "string" }, unevaluatedItems: false },
      [1, "a"],
    ],
    [
      "a recursive tree",
      {
        $defs: { node: { properties: { next: { $ref: "#/$defs/node" } }, required: ["id"] } },
        $ref: "#/$defs/node",
      },
      { id: 1, next: { id: 2, next: { id: 3 } } },
    ],
    [
      "an escaped pointer and an anchor",
      { $defs: { "a/b %": { $anchor: "x" } }, allOf: [{ $ref: "#/$defs/a~1b%20%25" }, { $ref: "#x" }] },
      1,
    ],
  ])("%s", (_, written, value) => {
    expect(said(written, value)).toBe("ok");
  });
});

describe("the first rule that is broken is told: the place, what was found, what was expected", () => {
  const item = {
    type: "object",
    required: ["id"],
    properties: { id: { type: ["string", "null"] } },
    additionalProperties: false,
  };
  test.each<[unknown, unknown, string]>([
    [false, 1, "the body is 1, expected nothing"],
    [{ type: "array" }, {}, "the body is an object, expected a list"],
    [
      { properties: { data: { items: item } } },
      { data: [{ id: "a" }, { id: 7 }] },
      '"/data/1/id" is 7, expected a text or null',
    ],
    [{ items: item }, [{}], '"/0/id" is missing, expected something'],
    [item, { id: null, "a/b~": [1] }, '"/a~1b~0" is a list of 1 item, expected nothing'],
    [{ enum: ["a", { b: 1 }] }, "c", 'the body is "c", expected "a" or {"b":1}'],
    [{ minimum: 1 }, 0, "the body is 0, expected a number of at least 1"],
    [{ exclusiveMaximum: 1 }, 1, "the body is 1, expected a number below 1"],
    [{ exclusiveMinimum: 1e308 }, 1e308, "the body is 1e+308, expected a number above 1e+308"],
    [{ multipleOf: 3 }, 9_007_199_254_740_991, "the body is 9007199254740991, expected a multiple of 3"],
    [
      { multipleOf: 0.75 },
      4_503_599_627_370_496,
      "the body is 4503599627370496, expected a multiple of 0.75",
    ],
    [{ multipleOf: 0.01 }, 0.015, "the body is 0.015, expected a multiple of 0.01"],
    [{ minLength: 2 }, "\u{1f600}", 'the body is "\u{1f600}", expected a text of at least 2 characters'],
    [{ maxItems: 1 }, [1, 2], "the body is a list of 2 items, expected a list of at most 1 item"],
    [
      { minProperties: 2, maxProperties: 3 },
      {},
      "the body is an object, expected an object of at least 2 properties",
    ],
    [
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      "the body is a list of 2 items, expected a list without equal items",
    ],
    [{ uniqueItems: true }, [0, -0], "the body is a list of 2 items, expected a list without equal items"],
    [
      { contains: { const: 1 } },
      [],
      'the body is a list of 0 items, expected a list of at least 1 item as "contains" says',
    ],
    [
      { contains: true, maxContains: 1 },
      [1, 2],
      'the body is a list of 2 items, expected a list of at most 1 item as "contains" says',
    ],
    [
      { propertyNames: { maxLength: 2 } },
      { ab: 1, abc: 1 },
      'the name of "/abc" is "abc", expected a text of at most 2 characters',
    ],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, '"/b" is missing, expected something'],
    [
      { dependentSchemas: { a: { maxProperties: 1 } } },
      { a: 1, b: 2 },
      "the body is an object, expected an object of at most 1 property",
    ],
    [
      { anyOf: [{ type: "string" }, { type: "null" }, { minimum: 5 }] },
      1,
      "the body is 1, expected a text or null or a number of at least 5",
    ],
    [
      { anyOf: [item, { type: "null" }] },
      { id: 1 },
      'the body is an object, expected what one of the 2 schemas in "anyOf" says',
    ],
    [
      { oneOf: [true, { type: "number" }] },
      1,
      'the body is 1, expected what exactly one of the 2 schemas in "oneOf" says',
    ],
    [{ not: { type: "null" } }, null, 'the body is null, expected what "not" does not say'],
    [
      JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]}}'),
      { a: 1 },
      '"/b" is missing, expected something',
    ],
    [
      { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
      { a: 1, b: 2 },
      '"/b" is 2, expected nothing',
    ],
    [{ prefixItems: [true], unevaluatedItems: { type: "string" } }, [1, 2], '"/1" is 2, expected a text'],
  ])("%j of %j", (written, value, sentence) => {
    expect(said(written, value)).toBe(sentence);
  });

  test("inside what an assertion points at", () => {
    expect(judged({ items: { type: "string" } }, '{"data":["a",1]}', "/data")).toBe(
      'assertion: answered 200, but "/data/1" is 1, expected a text',
    );
    expect(judged(true, "{}", "/data")).toBe(
      'assertion: answered 200, but "/data" is missing, expected something',
    );
  });
});

describe("what was found is told safely", () => {
  const hide = (text: string): string => text.replaceAll("test-key-1", "<secret>");

  test("names and values without keys, escaped and cut", () => {
    expect(judged({ additionalProperties: false }, '{"test-key-1":"test-key-1"}', "", hide)).toBe(
      'assertion: answered 200, but "/<secret>" is "<secret>", expected nothing',
    );
    expect(judged({ propertyNames: false }, '{"test-key-1":0}', "", hide)).toBe(
      'assertion: answered 200, but the name of "/<secret>" is "<secret>", expected nothing',
    );
    const hideSlashed = (text: string): string => text.replaceAll("test-key/2", "<secret>");
    expect(judged({ additionalProperties: false }, '{"test-key/2":0}', "", hideSlashed)).toContain(
      '"/<secret>" is 0',
    );
    const long = judged(
      { additionalProperties: false },
      JSON.stringify({ [`\u202e\n${"x".repeat(900_000)}`]: "y".repeat(90_000) }),
    );
    expect(long).toMatch(/^assertion: answered 200, but "\/\\u202e\\nx+…" is "y+…", expected nothing$/);
    expect(long.length).toBeLessThan(300);
  });

  test("without the balance of a credit inside, as details are in the log", () => {
    const written = { properties: { left: { minimum: 100 } } };
    const check = { jsonSchema: "contract.json", contract: contractOf(written) };
    expect(judgedBy({ path: "", ...check }, '{"left":73.25}', String, ["/left"])).toBe(
      'assertion: answered 200, but "/left" is a number that is not told, expected a number of at least 100',
    );
  });

  test("a schema that was not read lets nothing pass", () => {
    const body = [{ path: "", jsonSchema: "contract.json" }];
    const expected: Expectation = { status: [200], json: true, maxBodyBytes: 1, body };
    const head = { status: 200, reasonPhrase: "", headers: [] };
    const { detail } = judgeExchange(
      { kind: "answered", head, body: new TextEncoder().encode("{}") },
      expected,
      undefined,
      String,
    );
    expect(detail).toBe("answered 200, but the body could not be checked: contract.json was not read");
  });
});

/** Nested lists. */
function nested(depth: number, open: string, close: string): string {
  return `${open.repeat(depth)}1${close.repeat(depth)}`;
}

describe("what the library cannot judge is not checked, and that is told", () => {
  test("an answer that is too deep for its schema", () => {
    const schemas = Array.from({ length: 90 }, (_, at) => [`s${at}`, { $ref: `#/$defs/s${at + 1}` }]);
    const $defs = { ...Object.fromEntries(schemas), s90: { items: { $ref: "#/$defs/s0" } } };
    const tree = { $defs, $ref: "#/$defs/s0" };
    expect(judged(tree, nested(3, "[", "]"))).toBe("ok");
    expect(judged(tree, nested(900, "[", "]"))).toBe(
      "assertion: answered 200, but the body could not be checked: it has too many levels, or too many faults",
    );
  });

  test("a name that is no text", () => {
    expect(judged({ additionalProperties: { type: "string" } }, String.raw`{"\ud800":1}`)).toBe(
      "assertion: answered 200, but the body could not be checked: URI malformed",
    );
  });
});

describe("what is not known is refused, with its place", () => {
  const refused = (written: unknown): unknown => {
    const reading = read(written);
    return reading.kind === "refused"
      ? reading.faults.map(({ path, message }) => `${path.join("/")} ${message}`)
      : reading;
  };

  test.each<[unknown, string]>([
    [{ pattern: 5 }, "pattern must be a text"],
    [
      { pattern: "(" },
      "pattern must be an expression of JavaScript: Invalid regular expression: /(/u: Unterminated group",
    ],
    [
      { patternProperties: { "[": {} } },
      "patternProperties/[ must be an expression of JavaScript: Invalid regular expression: /[/u: Unterminated character class",
    ],
    [{ patternProperties: [] }, "patternProperties must be an object"],
    [{ minimun: 1 }, "minimun is not a keyword that is known here"],
    [{ allOf: [{ $dynamicRef: "#a" }] }, "allOf/0/$dynamicRef is not known here: write $ref"],
    [{ nullable: true }, 'nullable is not of draft 2020-12: write type: [TYPE, "null"]'],
    [
      { $schema: "http://json-schema.org/draft-07/schema#" },
      '$schema must be "https://json-schema.org/draft/2020-12/schema" or "https://json-schema.org/draft/2020-12/schema#"',
    ],
    [
      { $ref: "https://example.test/a.json" },
      "$ref must lead to a schema of this file, such as #/$defs/item: no other is read",
    ],
    [
      { $ref: "other.json#/a" },
      "$ref must lead to a schema of this file, such as #/$defs/item: no other is read",
    ],
    [
      { $ref: "#/$defs/nothing" },
      "$ref must lead to a schema of this file, such as #/$defs/item: no other is read",
    ],
    [
      { $ref: "#/properties", properties: {} },
      "$ref must lead to a schema of this file, such as #/$defs/item: no other is read",
    ],
    [
      { $ref: "#" },
      " must not lead through itself, or through more than 100 schemas, back to the same value",
    ],
    [
      { $defs: { a: { anyOf: [{ not: { $ref: "#/$defs/a" } }] } } },
      "$defs/a must not lead through itself, or through more than 100 schemas, back to the same value",
    ],
    [
      { properties: { a: { $id: "https://example.test/b" } } },
      "properties/a/$id must stand only at the beginning of the file",
    ],
    [{ $defs: { a: { $anchor: "x" }, b: { $anchor: "x" } } }, "$defs/b/$anchor must be a name of its own"],
    [{ items: [{}] }, "items must be an object or true or false"],
    [
      { type: "text" },
      'type must be "string" or "number" or "integer" or "boolean" or "array" or "object" or "null"',
    ],
    [{ minimum: "1" }, "minimum must be a number"],
    [{ multipleOf: 0 }, "multipleOf must be a number above 0"],
    [{ maxLength: 1.5 }, "maxLength must be a whole number"],
    [{ minItems: -1 }, "minItems must be a number of at least 0"],
    [{ required: "a" }, "required must be a list"],
    [{ required: ["a", 1] }, "required/1 must be a text"],
    [
      { type: ["string", "text"] },
      'type/1 must be "string" or "number" or "integer" or "boolean" or "array" or "object" or "null"',
    ],
    [{ anyOf: [] }, "anyOf must be a list of at least 1 item"],
    [{ properties: [] }, "properties must be an object"],
    [[], " must be an object or true or false"],
    [undefined, " must be an object or true or false"],
  ])("%j", (written, fault) => {
    expect(refused(written)).toEqual([fault]);
  });

  test("remarks are no rules", () => {
    const remarks = {
      title: "a",
      description: "b",
      $comment: "c",
      default: 1,
      examples: [1],
      deprecated: true,
      $id: "https://example.test",
    };
    const content = { contentEncoding: "base64", contentSchema: { $ref: "http://[" } };
    expect(said({ ...remarks, ...content, format: "email" }, "no email")).toBe("ok");
    expect(said({ properties: { format: { type: "string" } } }, { format: 1 })).toContain('"/format" is 1');
  });
});

test("any JSON is a schema or refused, and any value is judged", () => {
  const words = [
    "type",
    "items",
    "properties",
    "$ref",
    "allOf",
    "anyOf",
    "not",
    "const",
    "uniqueItems",
    "contains",
  ];
  const { any } = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { depthSize: "medium", withCrossShrink: true },
      fc.constantFrom<unknown>(
        true,
        false,
        null,
        0,
        1e308,
        -0,
        "12345678901234567890",
        "string",
        "#",
        "#/items",
        "#/allOf/0",
      ),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(fc.oneof(fc.constantFrom(...words), fc.string()), tie("any"), { maxKeys: 4 }),
    ),
  }));
  let kept = 0;
  fc.assert(
    fc.property(any, any, (written, value) => {
      const reading = read(written);
      if (reading.kind === "refused") return reading.faults.every(({ message }) => message !== "");
      kept += 1;
      const contract = { text: reading.text, digest: JSON.stringify(written) };
      const found = CONTRACTS.brokenBy(contract, value);
      return found === undefined || (found.kind === "broken" && found.expected !== "");
    }),
    { seed: 20_261_122, numRuns: 1_800 },
  );
  expect(kept).toBeGreaterThan(200);
});
