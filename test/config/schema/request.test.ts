import { expect, test } from "vitest";
import { filledRequest } from "../../../src/app/filled-request.ts";
import { load } from "../../../src/app/features/sections.ts";
import { ConfigDirectory, loaded, loadText, refusals, withUpstream } from "../config-file.ts";

type Sent = { readonly type: string; readonly text: string; readonly secrets: readonly string[] };

async function sent(lines: readonly string[], environment: Record<string, string> = {}): Promise<Sent> {
  const { config } = await loaded(withUpstream("method: POST", ...lines), environment);
  const [upstream] = config.upstreams;
  if (upstream === undefined) throw new Error("there is no upstream");
  const { payload, secrets } = filledRequest(upstream, environment);
  if (payload === undefined) throw new Error("there is no body");
  return { type: payload.type, text: Buffer.from(payload.bytes).toString(), secrets };
}

test.each<[string, string, string]>([
  [
    "json: { model: m, stop: [1, true, null], text: 'ä\"' }",
    "application/json",
    '{"model":"m","stop":[1,true,null],"text":"ä\\""}',
  ],
  ["json: null", "application/json", "null"],
  ["json: [{}]", "application/json", "[{}]"],
  ["text: 'zwölf'", "text/plain; charset=utf-8", "zwölf"],
  ["text: ''", "text/plain; charset=utf-8", ""],
  [
    "form: { to: 'a@b.test', text: 'a b&c=d' }",
    "application/x-www-form-urlencoded",
    "to=a%40b.test&text=a+b%26c%3Dd",
  ],
])("body: { %s } is sent as %s", async (body, type, text) => {
  expect(await sent([`body: { ${body} }`])).toEqual({ type, text, secrets: [] });
});

test("a variable in a body is filled in where it is sent, is secret, and is shown by its name", async () => {
  const environment = { TEST_KEY: 'test-key-"1"', EMPTY: "" };
  const body = 'body: { json: { api_key: "${TEST_KEY}", model: "${EMPTY:-small}", price: "$${TEST_KEY}" } }';
  expect(await sent([body], environment)).toEqual({
    type: "application/json",
    text: '{"api_key":"test-key-\\"1\\"","model":"small","price":"${TEST_KEY}"}',
    secrets: ['test-key-"1"', "small"],
  });
  const { secretVariables, shown } = await loaded(withUpstream("method: POST", body), environment);
  expect(secretVariables).toEqual(["TEST_KEY", "EMPTY"]);
  expect(shown).toContain('"api_key":"${TEST_KEY}"');
  expect(shown).not.toContain("test-key");
});

test("a body from a file is read with the config, and is a part of it", async () => {
  await using directory = await ConfigDirectory.create();
  const file = await directory.write('{"model":"${NOT_FILLED}"}', "body.json");
  const text = withUpstream("method: POST", "body: { file: body.json }");
  const loading = await load(await directory.write(text), { environment: {} });
  if (loading.kind === "refused") throw new Error(JSON.stringify(loading.faults));
  expect([...loading.parts.keys()]).toEqual([file]);
  const [upstream] = loading.config.upstreams;
  expect(upstream?.body).toMatchObject({ read: { digest: expect.any(String) } });
  expect(upstream && filledRequest(upstream, {}).payload).toEqual({
    type: "application/json",
    bytes: Buffer.from('{"model":"${NOT_FILLED}"}'),
  });
  await directory.write("x".repeat(256 * 1024 + 1), "body.json");
  expect(await load(directory.file(), { environment: {} })).toMatchObject({
    kind: "refused",
    faults: [{ message: expect.stringContaining('"upstreams[0].body.file" must be a readable file') }],
  });
  const structure = await load(directory.file(), { environment: {}, resolve: "structure" });
  expect(structure.kind).toBe("loaded");
});

test("a key in a body is refused, however it got there", async () => {
  const lines = ["method: POST", "auth: { basic: { user: api, password: { env: PASSWORD } } }"];
  const environment = { PASSWORD: "test-key-of-mail" };
  const must =
    "must not contain a key: a key is never written in the config, use a variable such as ${NAME}, or auth";
  for (const [body, place] of [
    ["json: { a: [{ api_key: test-key-1 }] }", ".json.a[0].api_key"],
    ["form: { token: test-key-1 }", ".form.token"],
    ["json: { header: Bearer test-key-1 }", ".json.header"],
    ['json: { api_key: "${A:-test-key-1}" }', ".json.api_key"],
    ['json: { header: "Bearer ${A:-test-key-1}" }', ".json.header"],
    ['form: { user: "${TOKEN:-test-key-1}" }', ".form.user"],
    ["form: { password: harmless }", ".form.password"],
    ['form: { password: "${PW:-harmless}" }', ".form.password"],
    ['form: { token: "${A:-7382910465738291}" }', ".form.token"],
    ["text: user=api&pw=test-key-of-mail", ""],
  ]) {
    const faults = await refusals(withUpstream(...lines, `body: { ${body} }`), environment);
    expect(faults.map((fault) => fault.replace(/^\d+:\d+: /, ""))).toEqual([
      `"upstreams[0].body${place}" ${must}`,
    ]);
    expect(faults.join()).not.toContain("test-key");
  }
  await using directory = await ConfigDirectory.create();
  await directory.write("pw=test-key-of-mail", "body.txt");
  const text = withUpstream(...lines, "body: { file: body.txt }");
  expect(await load(await directory.write(text), { environment })).toMatchObject({
    faults: [{ message: `"upstreams[0].body" ${must}` }],
  });
  for (const harmless of [
    "max_tokens: 1, token: short",
    'max_tokens: "${MAX_TOKENS:-16384000}"',
    'kind: "${TOKEN_KIND:-permanent}"',
  ]) {
    const text = withUpstream(...lines, `body: { json: { ${harmless} } }`);
    expect(await loadText(text, environment)).toMatchObject({ kind: "loaded" });
  }
});

test("a default that is a number or a word is no key, whatever its variable is called", async () => {
  const path = "path: /v1/${TOKENS_PATH:-resources}/${MAX_TOKENS:-16384000}";
  expect((await loadText(withUpstream(path), {})).kind).toBe("loaded");
});

test("a default that is a key by its variable's name is refused in a path, also where it is not sent", async () => {
  const text = withUpstream("path: /bot${BOT_TOKEN:-123456:test-key-1}/getMe");
  for (const environment of [{}, { BOT_TOKEN: "777:test-key-2" }])
    expect(await refusals(text, environment)).toEqual([
      expect.stringContaining('"upstreams[0].path" must not contain a key'),
    ]);
});

test.each([{}, { ROOM: "test-room-2" }])(
  "a default in a path is told nowhere, and what is sent of it is a secret: %o",
  async (environment: Readonly<Record<string, string>>) => {
    const { config, requests } = await loaded(withUpstream("path: /v1/${ROOM:-test-room-1}/a"), environment);
    const [upstream] = config.upstreams;
    if (upstream === undefined) throw new Error("there is no upstream");
    expect([upstream.url, requests[0]?.url]).toEqual(
      Array(2).fill("https://api.example.test/v1/${ROOM:-…}/a"),
    );
    expect(filledRequest(upstream, environment).secrets).toEqual([environment["ROOM"] ?? "test-room-1"]);
    const unset = withUpstream("path: /v1/${ROOM:-test-room-1}/${UNSET}");
    const { requests: lines } = await loaded(unset, environment, "structure");
    expect(lines[0]?.url).toBe("https://api.example.test/v1/${ROOM:-…}/${UNSET}");
  },
);

test("HEAD expects no JSON unless said, and nothing of a body that it does not get", async () => {
  const jsonOf = async (...lines: readonly string[]) =>
    (await loaded(withUpstream(...lines))).config.upstreams[0]?.expect.json;
  expect(await jsonOf("method: HEAD")).toBe(false);
  expect(await jsonOf("method: OPTIONS")).toBe(true);
  expect(await jsonOf("method: GET", "expect: { json: false }")).toBe(false);
});

test.each([
  ["/hooks/${TEST_TOKEN}/items", "/hooks/${TEST_TOKEN}/items", "/hooks/test-key-1%22/items"],
  [
    "/items?team=${TEST_TEAM}&of=${NONE:-all}",
    "/items?team=${TEST_TEAM}&of=${NONE:-…}",
    "/items?team=growth&of=all",
  ],
  ["/$${literal}/${TEST_TEAM}", "/$${literal}/${TEST_TEAM}", "/$%7Bliteral%7D/growth"],
  ["${TEST_PATH}", "/${TEST_PATH}", "/v1/growth"],
  ["${NONE:-/v1/items}?team=${TEST_TEAM}", "/${NONE:-…}?team=${TEST_TEAM}", "/v1/items?team=growth"],
  ["${NONE:-/v1/items?team=a}&of=${TEST_TEAM}", "/${NONE:-…}&of=${TEST_TEAM}", "/v1/items?team=a&of=growth"],
  ["/a:-b/${TEST_TEAM}", "/a:-b/${TEST_TEAM}", "/a:-b/growth"],
])(
  "what a variable puts into the path %s is a secret: only the request has it",
  async (path, shown, sent) => {
    const environment = { TEST_TOKEN: 'test-key-1"', TEST_TEAM: "growth", TEST_PATH: "/v1/growth" };
    const { config, secretVariables } = await loaded(withUpstream(`path: "${path}"`), environment);
    const [upstream] = config.upstreams;
    if (upstream === undefined) throw new Error("there is no upstream");
    expect(JSON.stringify(config)).not.toMatch(/test-key-1|growth/);
    expect(upstream.url).toBe(`https://api.example.test${shown}`);
    const { url, secrets } = filledRequest(upstream, environment);
    expect(new URL(url).href).toBe(`https://api.example.test${sent}`);
    const variables = [...path.matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name]) => name);
    expect(secretVariables).toEqual(variables);
    const [, variable = ""] = /(TEST_\w+)/.exec(path) ?? [];
    expect(secrets).toContain(Reflect.get(environment, variable));
  },
);
