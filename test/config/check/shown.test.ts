import { expect, test } from "vitest";
import { loaded, refusals, withUpstream } from "../config-file.ts";

test("a config is shown as it is written, with the names of its variables and without its comments", async () => {
  const text = `
# The old key was test-key-of-last-year.
budgets:
  api: { rate: { requests: 600, per: 1m } }
defaults: { base_url: "\${BASE_URL}", budget: api, every: 1m }
upstreams:
  - &first
    name: first
    path: /hooks/\${PATH_KEY}
    auth: { header: { name: X-Api-Key, env: TEST_KEY } }
    headers: { X-Team: "\${TEAM:-growth}" }
  - { <<: *first, name: second, path: "/v1/\${ACCOUNT}" }
  - { name: "m-\${each.m}", each: { m: [a, 2] }, auth: { none: true }, confirm: 0 }
`;
  const { shown } = await loaded(text, {
    BASE_URL: "https://api.example.test",
    PATH_KEY: "test-key-in-path",
    TEST_KEY: "test-key-1",
    ACCOUNT: "test-account",
  });
  const first = {
    name: "first",
    path: "/hooks/${PATH_KEY}",
    auth: { header: { name: "X-Api-Key", env: "TEST_KEY" } },
    headers: { "X-Team": "${TEAM:-…}" },
  };
  expect(JSON.parse(shown)).toEqual({
    budgets: { api: { rate: { requests: 600, per: "1m" } } },
    defaults: { base_url: "${BASE_URL}", budget: "api", every: "1m" },
    upstreams: [
      first,
      { ...first, name: "second", path: "/v1/${ACCOUNT}" },
      { name: "m-${each.m}", each: { m: ["a", 2] }, auth: { none: true }, confirm: 0 },
    ],
  });
  expect(shown).not.toMatch(/test-(?:key|account)/);
});

test.each([
  ["base_url", "base_url: ${URL:-https://user:test-key-1@api.example.test}", "base_url"],
  ["the path", "path: /v1/${A}/${URL:-test-key-1}", "path"],
  ["a header", 'headers: { X-Team: "${URL:-Bearer test-key-1}" }', "headers"],
  ["a body", 'method: POST\n    body: { form: { user: "${URL:-test-key-1}" } }', "body"],
])("a default in %s may be a key: nobody looks at it while its variable is set", async (_, line, key) => {
  const { shown } = await loaded(withUpstream(line), { URL: "https://api.example.test", A: "a" });
  expect(shown).not.toContain("test-key-1");
  expect(JSON.stringify(JSON.parse(shown).upstreams[0][key])).toContain("${URL:-…}");
});

test("what only looks like a variable is shown as it is", async () => {
  const { shown } = await loaded(withUpstream('headers: { X-A: "$${A:-b}", X-B: "{A:-b}" }'));
  expect(JSON.parse(shown).upstreams[0].headers).toEqual({ "X-A": "$${A:-b}", "X-B": "{A:-b}" });
});

test("a key in the body of defaults is refused, also where each upstream has a body of its own", async () => {
  const defaults = "defaults: { body: { json: { api_key: test-key-1 } } }\n";
  const text = withUpstream("method: POST", "body: { json: {} }");
  expect(await refusals(defaults + text)).toEqual([
    '1:38: "defaults.body.json.api_key" must not contain a key: a key is never written in the config, use a variable such as ${NAME}, or auth',
  ]);
  const inherited = withUpstream("method: POST");
  expect(await refusals(defaults + inherited)).toHaveLength(1);
});
