import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Expectation } from "../../../src/kernel/config/config.ts";
import type { BodyAssertion, HeaderAssertion } from "../../../src/features/expect/config.ts";
import type { Exchange, Headers } from "../../../src/kernel/exchange/exchange.ts";
import { valueAt } from "../../../src/kernel/exchange/json-pointer.ts";
import { judgeExchange } from "../../support/judged.ts";

const SEED = 20_261_122;
const EXPECT: Expectation = { status: [200], json: true, maxBodyBytes: 1_048_576 };

function answered(body: string, headers: Headers = [], status = 200): Exchange {
  return {
    kind: "answered",
    head: { status, reasonPhrase: "", headers },
    body: new TextEncoder().encode(body),
  };
}

function judged(
  expected: Partial<Expectation>,
  exchange: Exchange,
  withoutKeys: (text: string) => string = String,
): string {
  const { outcome, detail } = judgeExchange(exchange, { ...EXPECT, ...expected }, undefined, withoutKeys);
  return outcome.kind === "failed" ? `${outcome.reason}: ${detail}` : outcome.kind;
}

const ANSWER = JSON.stringify({
  status: "maintenance",
  credits: 12.5,
  data: [{ id: 7, tags: [] }, null],
  "a/b": { "c~d": true },
  "": "empty",
  nothing: null,
});

type Check = Omit<BodyAssertion, "path">;
const exists: Check = { exists: true };
const absent: Check = { exists: false };
const oneOf = (...values: readonly (string | number | boolean)[]): Check => ({ oneOf: values });
const range = (min?: number, max?: number): Check => ({ min, max });
const items = (min?: number, max?: number): Check => ({ minItems: min, maxItems: max });

describe("an answer that says what it should is ok", () => {
  test.each<[string, Check]>([
    ["/status", exists],
    ["/nothing", exists],
    ["/data/2", absent],
    ["/data/length", absent],
    ["/data/00", absent],
    ["/toString", absent],
    ["/status/length", absent],
    ["/status", oneOf("ok", "maintenance")],
    ["/data/0/id", oneOf(7)],
    ["/a~1b/c~0d", oneOf(true)],
    ["/", oneOf("empty")],
    ["", { type: "object" }],
    ["/data", { type: "array" }],
    ["/data/1", { type: "null" }],
    ["/data/0", { type: "object" }],
    ["/data/0/id", { type: "integer" }],
    ["/credits", { type: "number" }],
    ["/a~1b/c~0d", { type: "boolean" }],
    ["/credits", range(12.5, 12.5)],
    ["/credits", range(undefined, 13)],
    ["/data", items(2, 2)],
    ["/data/0/tags", items(undefined, 0)],
  ])("%s %j", (path, check) => {
    expect(judged({ body: [{ path, ...check }] }, answered(ANSWER))).toBe("ok");
  });
});

describe("the first thing that is not so is told: the place, what was found, what was expected", () => {
  test.each<[string, Check, string]>([
    ["/stat", exists, '"/stat" is missing, expected something'],
    ["/status", absent, '"/status" is "maintenance", expected nothing'],
    ["/status", oneOf("ok"), '"/status" is "maintenance", expected "ok"'],
    ["/data/0/id", oneOf("7"), '"/data/0/id" is 7, expected "7"'],
    ["/data/0/id", oneOf(8, true, "x"), '"/data/0/id" is 7, expected 8 or true or "x"'],
    ["/nothing", oneOf(0), '"/nothing" is null, expected 0'],
    ["/data", { type: "object" }, '"/data" is a list of 2 items, expected an object'],
    ["", { type: "array" }, "the body is an object, expected a list"],
    ["/credits", { type: "integer" }, '"/credits" is 12.5, expected a whole number'],
    ["/nothing", { type: "object" }, '"/nothing" is null, expected an object'],
    ["/status", { type: "null" }, '"/status" is "maintenance", expected null'],
    ["/credits", range(13), '"/credits" is 12.5, expected a number of at least 13'],
    ["/credits", range(undefined, 1e-9), '"/credits" is 12.5, expected a number of at most 1e-9'],
    ["/status", range(1, 2), '"/status" is "maintenance", expected a number from 1 to 2'],
    ["/data", items(3), '"/data" is a list of 2 items, expected a list of at least 3 items'],
    ["/data", items(0, 1), '"/data" is a list of 2 items, expected a list of 0 to 1 item'],
    ["/status", items(1), '"/status" is "maintenance", expected a list of at least 1 item'],
  ])("%s %j", (path, check, said) => {
    const body: BodyAssertion[] = [
      { path: "", ...exists },
      { path, ...check },
      { path: "/neither", ...exists },
    ];
    expect(judged({ body }, answered(ANSWER))).toBe(`assertion: answered 200, but ${said}`);
  });
});

describe("headers", () => {
  const headers: Headers = [
    ["content-type", "application/JSON; charset=utf-8"],
    ["x-version", "2"],
    ["x-version", "3"],
    ["set-cookie", "test-key-of-a-session"],
  ];
  type HeaderCheck = Omit<HeaderAssertion, "name">;

  test.each<[string, HeaderCheck]>([
    ["content-type", { contains: "application/json" }],
    ["x-version", { oneOf: ["1", "2, 3"] }],
    ["x-version", { exists: true }],
    ["x-debug", { exists: false }],
  ])("%s %j is ok, whatever the body is", (name, check) => {
    expect(judged({ headers: [{ name, ...check }] }, answered("{}", headers))).toBe("ok");
    expect(judged({ headers: [{ name, ...check }], json: false }, answered("text", headers))).toBe("ok");
  });

  test.each<[string, HeaderCheck, string]>([
    ["x-debug", { exists: true }, '"x-debug" is missing, expected something'],
    ["x-version", { oneOf: ["2", "3"] }, '"x-version" is a text of 4 characters, expected "2" or "3"'],
    [
      "set-cookie",
      { contains: "nothing" },
      '"set-cookie" is a text of 21 characters, expected a text that contains "nothing"',
    ],
    ["set-cookie", { exists: false }, '"set-cookie" is a text of 21 characters, expected nothing'],
  ])("%s %j is told without its value", (name, check, said) => {
    const detail = `assertion: answered 200, but the header ${said}`;
    expect(judged({ headers: [{ name, ...check }] }, answered("{}", headers))).toBe(detail);
    expect(judged({ headers: [{ name, ...check }], json: false }, answered("text", headers))).toBe(detail);
  });

  test("are asked of 204 too, of which no body is asked", () => {
    const expected: Partial<Expectation> = { status: [204], body: [{ path: "/data", ...exists }] };
    expect(judged(expected, answered("", [], 204))).toBe("ok");
    const asked: Partial<Expectation> = { ...expected, headers: [{ name: "x-version", ...exists }] };
    expect(judged(asked, answered("", [], 204))).toContain('"x-version" is missing');
  });
});

describe("an assertion judges only what would be ok", () => {
  const body = [{ path: "/data", ...exists }];

  test("another status, a broken body and a refusal stay what they are", () => {
    expect(judged({ body }, answered("{}", [], 503))).toBe("server_error: answered 503");
    expect(judged({ body }, answered("{}", [], 429))).toBe("throttled");
    expect(judged({ body }, answered("no JSON"))).toContain("invalid_body: ");
    expect(judged({ body }, answered('{"error":{"code":"insufficient_quota"}}'))).toBe("throttled");
  });
});

describe("what was found is told safely", () => {
  const body: BodyAssertion[] = [{ path: "/v", ...oneOf("ok") }];
  const found = (value: unknown): string => judged({ body }, answered(JSON.stringify({ v: value })));

  test("escaped and cut", () => {
    expect(found("a\n\u202e\u001b[2J")).toBe(
      'assertion: answered 200, but "/v" is "a\\n\\u202e\\u001b[2J", expected "ok"',
    );
    expect(found("x".repeat(1_000_000))).toBe(
      `assertion: answered 200, but "/v" is "${"x".repeat(59)}…", expected "ok"`,
    );
  });

  test("without keys, in a text or a number", () => {
    const hide = (text: string): string => text.replaceAll(/test-key-1|12345678/g, "<secret>");
    const said = (value: unknown): string => judged({ body }, answered(JSON.stringify({ v: value })), hide);
    expect(said("test-key-1")).toContain('is "<secret>", expected');
    expect(said(12_345_678)).toContain("is <secret>, expected");
  });

  test("without the balance of a credit, as details are in the log", () => {
    const said = (v: unknown, path = "/v", unshown = ["/v"]): string =>
      judged({ body: [{ path, ...range(1_000) }], unshown }, answered(JSON.stringify({ v })));
    expect(said(73.25)).toContain('"/v" is a number that is not told, expected a number of at least 1000');
    expect(said("73.25")).toContain('"/v" is a text of 5 characters, expected');
    expect(said(null)).toContain('"/v" is null, expected');
    expect(said([1])).toContain('"/v" is a list of 1 item, expected');
    expect(said(2_000)).toBe("ok");
    expect(said("7", "/v", ["/v/left"])).toContain('"/v" is a text of 1 character, expected');
    expect(said("7", "/v", ["/v2"])).toContain('"/v" is "7", expected');
  });

  test("an expectation of any length leaves one line of at most 300 characters", () => {
    const long = oneOf(...Array.from({ length: 100 }, (_, at) => `${at}\n`.padEnd(256, "y")));
    const said = judged({ body: [{ path: "/v\n", ...long }] }, answered("{}"));
    expect(said).toMatch(/^assertion: answered 200, but "\/v\\n" is missing, expected "0\\ny+…$/);
    expect(said.length).toBeLessThanOrEqual("assertion: ".length + 300);
  });
});

test("a pointer finds what RFC 6901 says, and nothing that is not in the answer", () => {
  const steps = fc.array(fc.string(), { maxLength: 6 });
  fc.assert(
    fc.property(steps, fc.jsonValue(), (names, leaf) => {
      const document = names.reduceRight<unknown>((inside, name) => ({ [name]: inside }), leaf);
      const pointer = names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
      const parsed: unknown = JSON.parse(JSON.stringify(document));
      expect(valueAt(parsed, pointer)).toEqual(JSON.parse(JSON.stringify(leaf)));
    }),
    { seed: SEED },
  );
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), (json, pointer) => {
      const found = valueAt(json, pointer);
      expect(typeof found).not.toBe("function");
    }),
    { seed: SEED },
  );
  for (const name of ["__proto__", "constructor", "toString", "length"]) {
    expect(valueAt(JSON.parse('{"a":[1]}'), `/${name}`)).toBeUndefined();
    expect(valueAt(JSON.parse('{"a":[1]}'), `/a/${name}`)).toBeUndefined();
  }
});

const anyCheck: fc.Arbitrary<Check> = fc.oneof(
  fc.boolean().map((there): Check => ({ exists: there })),
  fc
    .array(fc.oneof(fc.string(), fc.double(), fc.boolean()), { minLength: 1 })
    .map((values): Check => ({ oneOf: values })),
  fc
    .constantFrom("string", "number", "integer", "boolean", "array", "object", "null")
    .map((type): Check => ({ type })),
  fc
    .tuple(fc.constantFrom("range", "items"), fc.double(), fc.double())
    .map(([kind, min, max]): Check => (kind === "range" ? { min, max } : { minItems: min, maxItems: max })),
);

test("whatever is asserted of whatever JSON, it is ok or one safe line", () => {
  const anyPath = fc.array(
    fc.constantFrom("/a", "/0", "/", "/~0", "/~", "/length", "/__proto__", "/\u202e"),
    {
      maxLength: 5,
    },
  );
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), anyPath, anyCheck, (json, steps, check) => {
      const body: BodyAssertion[] = [{ path: steps.join(""), ...check }];
      const said = judged({ body, refusals: [] }, answered(JSON.stringify({ a: [json, { "": json }] })));
      if (said === "ok") return;
      expect(said).toMatch(/^assertion: answered 200, but (?:the body|".*") is .+/);
      expect(said).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
      expect(said.length).toBeLessThanOrEqual("assertion: ".length + 300);
    }),
    { seed: SEED, numRuns: 500 },
  );
});

test("an answer of 1 MiB is only walked along the path: nothing else in it is touched", () => {
  const touched: string[] = [];
  const watched = (name: string, value: object): object =>
    new Proxy(value, {
      get: (of, key) => {
        touched.push(`${name}.${String(key)}`);
        return Reflect.get(of, key);
      },
    });
  const list = watched(
    "list",
    Array.from({ length: 100_000 }, (_, id) => ({ id })),
  );
  expect(valueAt(watched("body", { data: list, more: list }), "/data/99999/id")).toBe(99_999);
  expect(touched).toEqual(["body.data", "list.99999"]);
});
