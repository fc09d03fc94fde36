import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readJson } from "../../../src/kernel/exchange/json-body.ts";
import { readValues, type SeenValue } from "../../../src/features/values/values.ts";
import type { Value } from "../../../src/features/values/config.ts";
import type { Headers } from "../../../src/kernel/exchange/exchange.ts";
import type { PollOutcome } from "../../../src/kernel/exchange/outcome.ts";
import { answered } from "../../support/kernel-samples.ts";
import { sampleValue } from "../../support/samples.ts";

const SEED = 20_261_122;
const OK: PollOutcome = { kind: "ok", reason: "" };

function at(pointer: string, name = "credits"): Value {
  return sampleValue({ name, path: pointer });
}

function read(
  body: string,
  wanted: readonly Value[],
  { headers = [], outcome = OK }: { readonly headers?: Headers; readonly outcome?: PollOutcome } = {},
): readonly SeenValue[] {
  const exchange = answered(200, headers, body);
  if (exchange.kind === "broken") throw new Error("it is no answer");
  const { values } = readValues(wanted, outcome, {
    head: exchange.head,
    json: () => readJson(exchange.body),
    withoutKeys: String,
  });
  return values.map(({ name, value }) => ({ name, value }));
}

describe("in the body", () => {
  test.each([
    ['{"data":{"limit_remaining":12.5}}', "/data/limit_remaining", 12.5],
    ['{"balance":"12.34"}', "/balance", 12.34],
    ['{"balance":"0.012345678901234568"}', "/balance", 0.012_345_678_901_234_568],
    ['{"balance":"-0.5"}', "/balance", -0.5],
    ['{"balance":0}', "/balance", 0],
    ['{"pools":[{"left":1},{"left":2}]}', "/pools/1/left", 2],
    ['{"a/b":{"m~n":7}}', "/a~1b/m~0n", 7],
    ['{"":3}', "/", 3],
    ['{"balance":9007199254740991}', "/balance", 9_007_199_254_740_991],
  ])("%s has at %s the value %d", (body, pointer, value) => {
    expect(read(body, [at(pointer)])).toEqual([{ name: "credits", value }]);
  });

  test.each([
    ["nothing", "{}"],
    ["null", '{"v":null}'],
    ["a flag", '{"v":true}'],
    ["an empty text", '{"v":""}'],
    ["a text of words", '{"v":"unlimited"}'],
    ["money with its sign", '{"v":"$12.34"}'],
    ["a number with separators", '{"v":"1,234.50"}'],
    ["an exponent in a text", '{"v":"1e5"}'],
    ["a decimal comma", '{"v":"12,34"}'],
    ["blanks", '{"v":" 12 "}'],
    ["more than a number can tell exactly", '{"v":1e308}'],
    ["more than any number", '{"v":1e999}'],
    ["a text of a thousand digits", `{"v":"${"9".repeat(1000)}"}`],
    ["a list", '{"v":[1]}'],
    ["a mapping", '{"v":{"v":1}}'],
    ["another JSON", "[1,2,3]"],
    ["no JSON", "v=12"],
    ["nothing at all", ""],
  ])("%s is no value", (_, body) => {
    expect(read(body, [at("/v")])).toEqual([]);
  });

  test("only what the answer itself holds is one, not what every object or list has", () => {
    expect(read("{}", [at("/constructor/length"), at("/__proto__/length")])).toEqual([]);
    expect(read("[1,2]", [at("/length"), at("/01")])).toEqual([]);
  });

  test("one that is missing takes none of the others with it", () => {
    expect(read('{"b":2}', [at("/a", "first"), at("/b", "second")])).toEqual([{ name: "second", value: 2 }]);
  });
});

describe("in a header", () => {
  const wanted = [sampleValue({ path: undefined, header: "x-credits" })];

  test("it is a plain decimal number, and the body is not parsed for it", () => {
    const { head } = answered(200, [["x-credits", "17.25"]]);
    if (head === undefined) throw new Error("it has no head");
    const { values } = readValues(wanted, OK, {
      head,
      json: () => expect.unreachable(),
      withoutKeys: String,
    });
    expect(values).toMatchObject([{ name: "credits", value: 17.25 }]);
  });

  test("two of them are no number", () => {
    const headers: Headers = [
      ["x-credits", "17"],
      ["x-credits", "18"],
    ];
    expect(read("{}", wanted, { headers })).toEqual([]);
  });
});

test("a refusal for want of credit tells the credit, as does an answer that lacks what was asserted; no other failure is believed", () => {
  const body = '{"v":0}';
  expect(read(body, [at("/v")], { outcome: { kind: "throttled", reason: "quota" } })).toHaveLength(1);
  expect(read(body, [at("/v")], { outcome: { kind: "failed", reason: "server_error" } })).toEqual([]);
  expect(read(body, [at("/v")], { outcome: { kind: "failed", reason: "assertion" } })).toHaveLength(1);
});

test("whatever JSON is answered and whatever path is asked for, only exact numbers come out", () => {
  const steps = fc.constantFrom(
    "",
    "0",
    "a",
    "v",
    "length",
    "__proto__",
    "constructor",
    "~0",
    "~1",
    "99999999999",
  );
  const paths = fc.array(steps, { minLength: 1, maxLength: 16 }).map((names) => `/${names.join("/")}`);
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), paths, (body, path) => {
      for (const { value } of read(body, [at(path)])) {
        expect(Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER).toBe(true);
      }
    }),
    { numRuns: 500, seed: SEED },
  );
});

/** The same JSON, and how often something in it was looked at. */
function counted(json: unknown): { readonly value: unknown; readonly looks: () => number } {
  let looks = 0;
  const wrap = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    return new Proxy(value, {
      get: (of, name) => ((looks += 1), wrap(Reflect.get(of, name))),
      getOwnPropertyDescriptor: (of, name) => ((looks += 1), Reflect.getOwnPropertyDescriptor(of, name)),
      has: (of, name) => ((looks += 1), Reflect.has(of, name)),
      ownKeys: (of) => ((looks += Reflect.ownKeys(of).length), Reflect.ownKeys(of)),
    });
  };
  return { value: wrap(json), looks: () => looks };
}

test("ten paths into a large body are read in as many looks as they have steps, however large it is", () => {
  const list = Array.from({ length: 100_000 }, (_, index) => index);
  const deep = JSON.parse(`{"v":${"[".repeat(900)}7${"]".repeat(900)}}`);
  const paths = ["/v", `/v${"/0".repeat(900)}`, "/99999", "/100001", "/0", "/1", "/2", "/3", "/v/0", "/x"];
  const steps = paths.join("").split("/").length - 1;
  for (const [json, found] of [
    [list, [99_999, 0, 1, 2, 3]],
    [Object.fromEntries(list.map((index) => [`name-${index}`, index])), []],
    [deep, [7]],
  ] as const) {
    const { value, looks } = counted(json);
    const { values } = readValues(
      paths.map((path) => at(path)),
      OK,
      {
        head: { status: 200, reasonPhrase: "", headers: [] },
        json: () => ({ kind: "json", value }),
        withoutKeys: String,
      },
    );
    expect(values.map(({ value }) => value)).toEqual(found);
    // One whether it is there, one for what it is.
    expect(looks()).toBeLessThanOrEqual(2 * steps);
  }
});

test("what is no number is told as it stands there, shortened and without keys", () => {
  const { head } = answered(200);
  if (head === undefined) throw new Error("it has no head");
  const body = { money: "$93.08", none: null, key: `test-key-of-a-customer`, long: "x".repeat(100) };
  const wanted = ["/money", "/none", "/key", "/long", "/nowhere"].map((pointer) =>
    at(pointer, pointer.slice(1)),
  );
  const read = readValues(wanted, OK, {
    head,
    json: () => ({ kind: "json", value: body }),
    withoutKeys: (text) => text.replaceAll("test-key-of-a-customer", "<secret>"),
  });
  expect(read.values).toEqual([]);
  expect(read.unreadable).toEqual([
    { name: "money", found: '"$93.08"' },
    { name: "none", found: "null" },
    { name: "key", found: '"<secret>"' },
    { name: "long", found: expect.stringMatching(/^"x{30,40}…?/) },
    { name: "nowhere", found: undefined },
  ]);
});
