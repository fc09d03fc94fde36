import { expect, test } from "vitest";
import { filledRequest } from "../../../src/app/filled-request.ts";
import { loaded, loadText, refusals } from "../config-file.ts";

function configOf(...lines: readonly string[]): string {
  return [
    "budgets:",
    "  api: { rate: { requests: 600, per: 1m }, share: 100% }",
    "  gpt-4o: { rate: { requests: 600, per: 1m }, share: 100% }",
    "  openai-o3-mini: { rate: { requests: 600, per: 1m }, share: 100% }",
    "defaults: { base_url: https://api.example.test, auth: { none: true }, budget: api, every: 1m }",
    "upstreams:",
    "  -",
    ...lines.map((line) => `    ${line}`),
    "",
  ].join("\n");
}

const TEMPLATE = configOf(
  'name: "router-${each.model}-${each.size}"',
  "each: { model: [gpt-4o, openai/o3 mini], size: [1, 20] }",
  'path: "/v1/${each.model}/complete?size=${each.size}"',
  'budget: ["${each.model}", api]',
  'headers: { X-Model: "${each.model}", X-Team: "${TEAM:-growth}" }',
  'labels: { model: "${each.model}" }',
  "method: POST",
  'body: { json: { model: "${each.model}", max_tokens: "${each.size}", user: "${USER_ID}-${each.size}" } }',
  'confirm: "${each.size}"',
);

test("one upstream is made of each combination, with its values where they are asked for", async () => {
  const text = TEMPLATE.replace("size: [1, 20]", "size: [1, 2]");
  const { config, proof } = await loaded(text, { USER_ID: "test-user-id" });
  expect(
    config.upstreams.map(({ name, url, budgets, labels, headers, confirm }) => ({
      name,
      url,
      budgets,
      labels,
      headers,
      confirm,
    })),
  ).toEqual(
    [
      ["gpt-4o", "gpt-4o", "gpt-4o", 1],
      ["gpt-4o", "gpt-4o", "gpt-4o", 2],
      ["openai/o3 mini", "openai-o3-mini", "openai%2Fo3%20mini", 1],
      ["openai/o3 mini", "openai-o3-mini", "openai%2Fo3%20mini", 2],
    ].map(([model, slug, escaped, size]) => ({
      name: `router-${slug}-${size}`,
      url: `https://api.example.test/v1/${escaped}/complete?size=${size}`,
      budgets: [slug, "api"],
      labels: { model },
      headers: { "X-Model": model, "X-Team": "growth" },
      confirm: size,
    })),
  );
  // All of them are in the proof: two in the model's, four in the account's.
  const counted = proof.budgets.map(({ budget, rates: [rate] }) => [budget, rate?.upstreams.length]);
  expect(counted).toEqual([
    ["api", 4],
    ["gpt-4o", 2],
    ["openai-o3-mini", 2],
  ]);
  const bodies = config.upstreams.map((upstream) => {
    const { payload, secrets } = filledRequest(upstream, { USER_ID: "test-user-id" });
    return [JSON.parse(Buffer.from(payload?.bytes ?? []).toString()), secrets];
  });
  expect(bodies[3]).toEqual([
    { model: "openai/o3 mini", max_tokens: 2, user: "test-user-id-2" },
    ["test-user-id"],
  ]);
});

test("what a variable puts into a path beside it is still a secret", async () => {
  const text = configOf('name: "a-${each.m}"', "each: { m: [x y, z] }", 'path: "/${TENANT}/${each.m}"');
  const { config } = await loaded(text, { TENANT: "test-tenant" });
  const [first] = config.upstreams;
  expect(first?.url).toBe("https://api.example.test/${TENANT}/x%20y");
  expect(first && filledRequest(first, { TENANT: "test-tenant" })).toEqual({
    url: "https://api.example.test/test-tenant/x%20y",
    secrets: ["test-tenant"],
  });
});

test("values may come from variables, and are not shown then", async () => {
  const text = configOf('name: "m-${each.m}"', 'each: { m: ["${MODEL}", b] }', 'path: "v1/${each.m}"');
  const said = (await refusals(text, { MODEL: "test-model-from-outside" })).join("\n");
  expect(said).toContain('"upstreams[0].path" must be a path that begins with /, received a string of');
  expect(said).not.toContain("from-outside");
});

test("a fault of the template is told once, with its place", async () => {
  const text = configOf('name: "m-${each.m}"', "each: { m: [a, b, c] }", "every: 1500ms", "timeot: 1s");
  expect(await refusals(text)).toEqual([
    expect.stringMatching(/^10:12: "upstreams\[0\]\.every" must be a period/),
    expect.stringMatching(/^11:5: unknown key "timeot" in "upstreams\[0\]"/),
  ]);
  const behind = text.replace(
    "every: 1500ms\n    timeot: 1s",
    "every: 1m\n  - { name: other, every: 'upstreams[0]' }",
  );
  expect(await refusals(behind)).toEqual([
    expect.stringMatching(/^11:27: "upstreams\[1\]\.every" must be a period.*, received "upstreams\[0\]"$/),
  ]);
});

test.each<[string, readonly string[], readonly string[]]>([
  [
    "a name that is made twice",
    ["name: same", "each: { m: [a, b] }"],
    [
      '8:11: "upstreams[0].name" must differ between the upstreams that it makes, received "same" twice: write ${each.NAME} of each list into it',
    ],
  ],
  [
    "two values with one slug",
    ['name: "m-${each.m}"', "each: { m: [a/b, a b] }"],
    [
      '8:11: "upstreams[0].name" must differ between the upstreams that it makes, received "m-a-b" twice: write ${each.NAME} of each list into it',
    ],
  ],
  [
    "a list that does not exist",
    ['name: "m-${each.m}"', "each: { m: [a] }", 'path: "/${each.modle}"'],
    [
      '10:11: "upstreams[0].path" must use only lists under "each" of the same upstream, received ${each.modle}',
    ],
  ],
  [
    "a default for it",
    ['name: "m-${each.m:-a}"', "each: { m: [a] }"],
    [
      '8:11: a "${" must be ${NAME} or ${NAME:-default} without another one in its default, or $${ for itself',
    ],
  ],
  [
    "more than are allowed",
    [
      'name: "m-${each.m}-${each.n}"',
      `each: { m: [${Array.from({ length: 51 }, (_, at) => at).join()}], n: [1,2,3,4,5,6,7,8,9,10] }`,
    ],
    ['9:11: "upstreams[0].each" must make at most 500 upstreams, it makes 510'],
  ],
  [
    "an empty one",
    ["name: m", "each: {}"],
    ['9:11: "upstreams[0].each" must have at least one list, received none'],
  ],
  [
    "an empty list",
    ['name: "m-${each.m}"', "each: { m: [] }"],
    ['9:16: "upstreams[0].each.m" must be a list of at least one value, received an empty list'],
  ],
  [
    "lists that are none",
    ['name: "m-${each.m}"', "each: [a, b]"],
    ['9:11: "upstreams[0].each" must be a mapping of names to lists, received a list'],
  ],
  [
    "values that are mappings",
    ['name: "m-${each.m}"', "each: { m: [{ a: 1 }] }"],
    [
      '9:17: "upstreams[0].each.m[0]" must be a text of at most 256 characters without ${, a number, true or false, received a mapping',
    ],
  ],
])("%s is refused", async (_, lines, faults) => {
  expect(await refusals(configOf(...lines))).toEqual(faults);
});

test("it means nothing elsewhere, and is no variable", async () => {
  const elsewhere = configOf("name: m", 'headers: { X-Model: "${each.model}" }');
  expect(await refusals(elsewhere, { "each.model": "test" })).toEqual([
    '9:25: "upstreams[0].headers.X-Model" must use only lists under "each" of the same upstream, received ${each.model}',
  ]);
  const inDefaults = configOf("name: m").replace("every: 1m", 'every: 1m, labels: { a: "${each.model}" }');
  expect((await refusals(inDefaults)).map((fault) => fault.replace(/^\d+:\d+: /, ""))).toEqual([
    '"defaults.labels.a" must use only lists under "each" of the same upstream, received ${each.model}',
  ]);
  const literal = configOf("name: m", 'headers: { X-Model: "$${each.model}" }');
  expect((await loaded(literal)).config.upstreams[0]?.headers).toEqual({ "X-Model": "${each.model}" });
});

test("a template is a part of the structure: what its values need must be set", async () => {
  const text = configOf('name: "m-${each.m}"', 'each: { m: ["${MODEL}"] }');
  expect(await loadText(text, {}, "structure")).toMatchObject({ kind: "refused" });
  const other = configOf('name: "m-${each.m}"', "each: { m: [a, b] }", 'path: "/${UNSET}/${each.m}"');
  expect(await loadText(other, {}, "structure")).toMatchObject({ kind: "loaded" });
});
