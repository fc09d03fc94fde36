import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BodyAssertion, Expectation } from "../../../src/core/config/config.ts";
import { readContract } from "../../../src/core/contract/read.ts";
import { judgeByContract, MOST_STEPS } from "../../../src/core/contract/judge.ts";
import { brokenInWords } from "../../../src/core/contract/words.ts";
import { judgeExchange } from "../../../src/core/poll/classify.ts";

function contractOf(written: unknown): NonNullable<BodyAssertion["contract"]> {
  const reading = readContract(written);
  if (reading.kind === "refused") throw new Error(JSON.stringify(reading.faults));
  return { rules: reading.contract, digest: "" };
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
  body: string,
  withoutKeys: (text: string) => string = String,
): string {
  const expected: Expectation = { status: [200], json: true, maxBodyBytes: 1_048_576, body: [assertion] };
  const exchange = {
    kind: "answered",
    head: { status: 200, reasonPhrase: "", headers: [] },
    body: new TextEncoder().encode(body),
  } as const;
  const { outcome, detail } = judgeExchange(exchange, expected, undefined, withoutKeys);
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
      "`/data/1/id` is 7, expected a text or null",
    ],
    [{ items: item }, [{}], "`/0/id` is missing, expected something"],
    [item, { id: null, "a/b~": [1] }, "`/a~1b~0` is a list of 1 item, expected nothing"],
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
      "the body is an object, expected an object of 2 to 3 properties",
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
      "the body is a list of 0 items, expected a list of at least 1 item as `contains` says",
    ],
    [
      { contains: true, maxContains: 1 },
      [1, 2],
      "the body is a list of 2 items, expected a list of 1 to 1 item as `contains` says",
    ],
    [
      { propertyNames: { maxLength: 2 } },
      { ab: 1, abc: 1 },
      'the name of `/abc` is "abc", expected a text of at most 2 characters',
    ],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, "`/b` is missing, expected something"],
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
      "the body is an object, expected what one of the 2 schemas in `anyOf` says",
    ],
    [
      { oneOf: [true, { type: "number" }] },
      1,
      "the body is 1, expected what exactly one of the 2 schemas in `oneOf` says",
    ],
    [{ not: { type: "null" } }, null, "the body is null, expected what `not` does not say"],
    [
      JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]}}'),
      { a: 1 },
      "`/b` is missing, expected something",
    ],
    [
      { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
      { a: 1, b: 2 },
      "`/b` is 2, expected nothing",
    ],
    [{ prefixItems: [true], unevaluatedItems: { type: "string" } }, [1, 2], "`/1` is 2, expected a text"],
  ])("%j of %j", (written, value, sentence) => {
    expect(said(written, value)).toBe(sentence);
  });

  test("inside what an assertion points at", () => {
    expect(judged({ items: { type: "string" } }, '{"data":["a",1]}', "/data")).toBe(
      "assertion: answered 200, but `/data/1` is 1, expected a text",
    );
    expect(judged(true, "{}", "/data")).toBe(
      "assertion: answered 200, but `/data` is missing, expected something",
    );
  });
});

describe("what was found is told safely", () => {
  const hide = (text: string): string => text.replaceAll("test-key-1", "<secret>");

  test("names and values without keys, escaped and cut", () => {
    expect(judged({ additionalProperties: false }, '{"test-key-1":"test-key-1"}', "", hide)).toBe(
      'assertion: answered 200, but `/<secret>` is "<secret>", expected nothing',
    );
    expect(judged({ propertyNames: false }, '{"test-key-1":0}', "", hide)).toBe(
      'assertion: answered 200, but the name of `/<secret>` is "<secret>", expected nothing',
    );
    const hideSlashed = (text: string): string => text.replaceAll("test-key/2", "<secret>");
    expect(judged({ additionalProperties: false }, '{"test-key/2":0}', "", hideSlashed)).toContain(
      "`/<secret>` is 0",
    );
    const long = judged(
      { additionalProperties: false },
      JSON.stringify({ [`\u202e\n${"x".repeat(900_000)}`]: "y".repeat(90_000) }),
    );
    expect(long).toMatch(/^assertion: answered 200, but `\/\\u202e\\nx+…` is "y+…", expected nothing$/);
    expect(long.length).toBeLessThan(300);
  });

  test("without the balance of a credit inside, as details are in the log", () => {
    const written = { properties: { left: { minimum: 100 } } };
    const check = { jsonSchema: "contract.json", contract: contractOf(written) };
    expect(judgedBy({ path: "", ...check, isCredit: true }, '{"left":73.25}')).toBe(
      "assertion: answered 200, but `/left` is a number that is not told, expected a number of at least 100",
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

/** Nested lists, and objects under one name. */
function nested(depth: number, open: string, close: string): string {
  return `${open.repeat(depth)}1${close.repeat(depth)}`;
}

/** A value that counts how often somebody looks into it. */
function counted(value: unknown): { readonly value: unknown; readonly looks: () => number } {
  let looks = 0;
  const known = new WeakMap<object, object>();
  const watched = (inner: unknown): unknown => {
    if (typeof inner !== "object" || inner === null) return inner;
    const before = known.get(inner);
    if (before !== undefined) return before;
    const proxy = new Proxy(inner, {
      get: (target, name) => {
        looks += 1;
        return watched(Reflect.get(target, name));
      },
      getOwnPropertyDescriptor: (target, name) => {
        looks += 1;
        return Reflect.getOwnPropertyDescriptor(target, name);
      },
    });
    known.set(inner, proxy);
    return proxy;
  };
  return { value: watched(value), looks: () => looks };
}

const TREE = {
  $defs: { node: { items: { $ref: "#/$defs/node" }, additionalProperties: { $ref: "#/$defs/node" } } },
  $ref: "#/$defs/node",
};

describe("no answer takes more than its steps", () => {
  const numbers = (count: number): string => `[${Array.from({ length: count }, (_, at) => at).join()}]`;
  const object = (count: number): string =>
    `{${Array.from({ length: count }, (_, at) => `"k${at}":1`).join()}}`;
  const inside = { items: { $ref: "#" } };
  const EACH_LEVEL_TWICE = { type: "array", anyOf: [inside, inside] };

  test.each<[string, unknown, string, RegExp]>([
    ["a list of 1 MiB", { items: { type: "integer" } }, numbers(170_000), /^ok$/],
    [
      "half a million items",
      { items: { type: "integer" } },
      `[${"1,".repeat(524_000)}1]`,
      /could not be checked/,
    ],
    ["a hundred thousand different items", { uniqueItems: true }, numbers(100_000), /^ok$/],
    ["a wide object", { additionalProperties: { type: "number" } }, object(80_000), /^ok$/],
    [
      "a wide object in a hundred alternatives",
      { anyOf: Array.from({ length: 100 }, () => ({ additionalProperties: { type: "number" }, not: {} })) },
      object(80_000),
      /could not be checked/,
    ],
    [
      "wide objects that must differ",
      { uniqueItems: true },
      `[${object(40_000)},${object(40_000)}]`,
      /could not be checked/,
    ],
    [
      "alternatives that double at each level",
      EACH_LEVEL_TWICE,
      nested(60, "[", "]"),
      /could not be checked/,
    ],
    ["deep lists", TREE, nested(900, "[", "]"), /could not be checked/],
    ["deep objects", TREE, nested(900, '{"a":', "}"), /could not be checked/],
    ["ten thousand levels", TREE, nested(10_000, "[", "]"), /^invalid_body: /],
    [
      "deep lists that must differ",
      { uniqueItems: true },
      `[${nested(900, "[", "]")},${nested(900, "[[],", "]")}]`,
      /^ok$/,
    ],
    [
      "a long text at each level that must differ",
      { uniqueItems: true },
      `[${nested(900, "[0,", "]").replace("1", JSON.stringify("x".repeat(900_000)))}]`,
      /could not be checked/,
    ],
    [
      "a text of half a million characters",
      { minLength: 262_143 },
      JSON.stringify("\u{1f600}".repeat(262_144)),
      /^ok$/,
    ],
  ])("%s", (_, written, body, outcome) => {
    expect(judged(written, body)).toMatch(outcome);
    const answer = counted(JSON.parse(body));
    judgeByContract(contractOf(written).rules, answer.value, { left: MOST_STEPS });
    // A look costs a step at least, and the last may be one too many.
    expect(answer.looks()).toBeLessThan(1.01 * MOST_STEPS);
  });

  test("an answer that is more than is checked fails, and says so", () => {
    expect(judged(TREE, nested(900, "[", "]"))).toBe(
      "assertion: answered 200, but the body could not be checked: its schema takes more than 500000 steps or 400 levels",
    );
  });

  test("all schemas of an answer share the steps", () => {
    const { rules: contract } = contractOf({ items: { type: "integer" } });
    const steps = { left: MOST_STEPS };
    const list = Array.from({ length: 200_000 }, () => 1);
    judgeByContract(contract, list, steps);
    expect(steps.left).toBeGreaterThan(0);
    for (let round = 0; round < 2; round += 1) judgeByContract(contract, list, steps);
    expect(steps.left).toBeLessThan(0);
  });
});

describe("what is not known is refused, with its place", () => {
  const refused = (written: unknown): unknown => {
    const reading = readContract(written);
    return reading.kind === "refused"
      ? reading.faults.map(({ path, message }) => `${path.join("/")} ${message}`)
      : reading;
  };

  test.each<[unknown, string]>([
    [{ pattern: 5 }, "pattern must be an expression that RE2 knows: it is not a text"],
    [{ patternProperties: [] }, "patternProperties must be an object"],
    [{ minimun: 1 }, "minimun is not a keyword that is known here"],
    [{ allOf: [{ $dynamicRef: "#a" }] }, "allOf/0/$dynamicRef is not known here: write $ref"],
    [{ nullable: true }, 'nullable is not of draft 2020-12: write type: [TYPE, "null"]'],
    [
      { $schema: "http://json-schema.org/draft-07/schema#" },
      "$schema must be https://json-schema.org/draft/2020-12/schema",
    ],
    [
      { $ref: "https://example.test/a.json" },
      "$ref must lead to a schema of this file, such as #/$defs/item: no other is read",
    ],
    [
      { $ref: "other.json#/a" },
      "$ref must lead to a schema of this file, such as #/$defs/item: no other is read",
    ],
    [{ $ref: "#/$defs/nothing" }, "$ref must lead to a schema of this file"],
    [{ $ref: "#/properties", properties: {} }, "$ref must lead to a schema of this file"],
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
      "properties/a/$id must be a text, and stand only at the beginning of the file",
    ],
    [{ $defs: { a: { $anchor: "x" }, b: { $anchor: "x" } } }, "$defs/b/$anchor must be a name of its own"],
    [{ items: [{}] }, "items must be a schema: an object, true or false"],
    [
      { type: "text" },
      "type must be one of string, number, integer, boolean, array, object, null, or a list of them",
    ],
    [{ minimum: "1" }, "minimum must be a number"],
    [{ multipleOf: 0 }, "multipleOf must be a number above 0"],
    [{ maxLength: 1.5 }, "maxLength must be a whole number from 0"],
    [{ required: "a" }, "required must be a list of names"],
    [{ anyOf: [] }, "anyOf must be a list of at least one schema"],
    [{ properties: [] }, "properties must be an object"],
    [[], " must be a schema: an object, true or false"],
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
    expect(said({ ...remarks, format: "email", contentEncoding: "base64" }, "no email")).toBe("ok");
  });
});

test("any JSON is a schema or refused, and any value is judged within the steps", () => {
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
  let read = 0;
  fc.assert(
    fc.property(any, any, (written, value) => {
      const reading = readContract(written);
      if (reading.kind === "refused") return reading.faults.every(({ message }) => message !== "");
      read += 1;
      // As it comes from the thread that reads the config.
      const contract = structuredClone(reading.contract);
      const steps = { left: 10_000 };
      const broken = judgeByContract(contract, value, steps);
      return broken === undefined || brokenInWords(broken) !== "";
    }),
    { seed: 20_261_122, numRuns: 1_800 },
  );
  expect(read).toBeGreaterThan(200);
});
