import { expect, test } from "vitest";
import { librariesFor } from "../../../src/app/features/judging.ts";
import { openSchemaReader } from "../../../src/features/expect/contract/schema-reader.ts";
import type { Expectation } from "../../../src/kernel/config/config.ts";
import type { BodyAssertion } from "../../../src/features/expect/config.ts";
import { needsChecks } from "../../../src/features/expect/assertions.ts";
import { judgeExchange } from "../../support/judged.ts";

const readSchema = await openSchemaReader();
const PAGE = "<html>\n<h1>All Systems Operational</h1>\n<p>12 ms</p> Straße\n</html>";

async function judged(written: Partial<Expectation>, body: string | Uint8Array): Promise<string> {
  const expected: Expectation = { status: [200], json: false, maxBodyBytes: 1_048_576, ...written };
  const { outcome, detail } = judgeExchange(
    {
      kind: "answered",
      head: { status: 200, reasonPhrase: "", headers: [["x-version", "2.10.3"]] },
      body: typeof body === "string" ? new TextEncoder().encode(body) : body,
    },
    expected,
    undefined,
    String,
    await librariesFor({ expect: expected }),
  );
  return outcome.kind === "failed" ? detail : outcome.kind;
}

type Check = Omit<BodyAssertion, "path">;
const whole = (check: Check): Partial<Expectation> => ({
  body: [{ path: undefined, ...check }],
});
const N = PAGE.length;

test.each<[Check, string]>([
  [{ contains: "all systems operational" }, "ok"],
  [{ contains: "straße" }, "ok"],
  [
    { contains: "outage" },
    `answered 200, but the body is a text of ${N} characters, expected a text that contains "outage"`,
  ],
  [{ lacks: "outage" }, "ok"],
  [
    { lacks: "operational" },
    `answered 200, but the body is a text of ${N} characters, expected a text without "operational"`,
  ],
  [{ matches: String.raw`<p>\d+ ms</p>` }, "ok"],
  [{ matches: "(?i)ALL SYSTEMS" }, "ok"],
  [
    { matches: "^<h1>" },
    `answered 200, but the body is a text of ${N} characters, expected a text that matches "^<h1>"`,
  ],
  [{ matches: "(?m)^<h1>" }, "ok"],
])("of the whole text of an answer that is no JSON, %o is %s", async (check, said) => {
  expect(await judged(whole(check), PAGE)).toBe(said);
});

test("a text that is empty, or no UTF-8, is a text all the same", async () => {
  expect(await judged(whole({ lacks: "error" }), "")).toBe("ok");
  expect(await judged(whole({ contains: "a" }), "")).toContain("a text of 0 characters");
  expect(await judged(whole({ contains: "ok" }), Uint8Array.of(0xff, 0x6f, 0x6b, 0xfe))).toBe("ok");
});

test.each<[string, Check, string]>([
  ["/status", { contains: "run" }, "ok"],
  ["/status", { lacks: "maintenance" }, "ok"],
  ["/status", { matches: "^(running|idle)$" }, "ok"],
  [
    "/status",
    { matches: "^idle$" },
    'answered 200, but "/status" is "running", expected a text that matches "^idle$"',
  ],
  ["/absent", { lacks: "a" }, 'answered 200, but "/absent" is missing, expected a text without "a"'],
  ["/n", { contains: "5" }, 'answered 200, but "/n" is 5, expected a text that contains "5"'],
])("of the text at %s, %o is %s", async (path, check, said) => {
  expect(await judged({ json: true, body: [{ path, ...check }] }, '{"status":"running","n":5}')).toBe(said);
});

test("JSON may be looked at as a text too", async () => {
  expect(await judged({ json: true, ...whole({ contains: '"n":5' }) }, '{"status":"running","n":5}')).toBe(
    "ok",
  );
});

test("a header matches an expression, and its value is not told", async () => {
  const of = (pattern: string): Partial<Expectation> => {
    return { headers: [{ name: "x-version", matches: pattern }] };
  };
  expect(await judged(of(String.raw`^2\.`), "")).toBe("ok");
  expect(await judged(of("^3"), "")).toBe(
    'answered 200, but the header "x-version" is a text of 6 characters, expected a text that matches "^3"',
  );
});

test.each<[unknown, unknown, string]>([
  [{ pattern: "^a+$" }, "aaa", "ok"],
  [{ pattern: "^a+$" }, "ab", 'answered 200, but the body is "ab", expected a text that matches "^a+$"'],
  [{ pattern: "^a+$" }, 5, "ok"],
  [{ pattern: String.raw`^\u00e9` }, "é", "ok"],
  [{ patternProperties: { "^x-": { type: "string" } } }, { "x-a": "1", b: 2 }, "ok"],
  [
    { patternProperties: { "^x-": { type: "string" } } },
    { "x-a": 1 },
    'answered 200, but "/x-a" is 1, expected a text',
  ],
  [
    { properties: { a: true }, patternProperties: { "^x-": true }, additionalProperties: false },
    { a: 1, "x-a": 1, b: 1 },
    'answered 200, but "/b" is 1, expected nothing',
  ],
  [
    { properties: { "x-a": { type: "integer" } }, patternProperties: { "^x-": { minimum: 5 } } },
    { "x-a": 4 },
    'answered 200, but "/x-a" is 4, expected a number of at least 5',
  ],
  [{ patternProperties: { "^x-": true }, unevaluatedProperties: false }, { "x-a": 1 }, "ok"],
])("the schema %j says of %j: %s", async (schema, value, said) => {
  const reading = readSchema(schema);
  if (reading.kind === "refused") throw new Error(JSON.stringify(reading.faults));
  const contract = { text: reading.text, digest: JSON.stringify(schema) };
  const body: readonly BodyAssertion[] = [{ path: "", jsonSchema: "a.json", contract }];
  expect(await judged({ json: true, body }, JSON.stringify(value))).toBe(said);
  expect(needsChecks({ body })).toBe(true);
});

test("an answer is judged elsewhere only where its config has an expression or a JSON Schema", () => {
  expect(needsChecks({})).toBe(false);
  expect(needsChecks(whole({ contains: "a" }))).toBe(false);
  expect(needsChecks(whole({ matches: "a" }))).toBe(true);
  expect(needsChecks({ headers: [{ name: "a", matches: "a" }] })).toBe(true);
});
