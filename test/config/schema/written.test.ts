import { opened } from "../../support/opened.ts";
import { expect, test } from "vitest";
import { writtenConfig } from "../../../src/config/schema/schema.ts";
import { filledRequest } from "../../../src/app/filled-request.ts";
import { secretVariables } from "../../../src/config/read/secrets.ts";
import { loaded, withUpstream } from "../config-file.ts";

test("the running config is told in its own words, with the place of each key and no key", async () => {
  const text = withUpstream(
    "auth: { header: { name: X-Api-Key, env: TEST_KEY } }",
    "headers: { X-Team: growth }",
  );
  const { config } = await loaded(text, { TEST_KEY: "test-key-1" });
  const described = JSON.parse(JSON.stringify(writtenConfig(config)));
  expect(described).toEqual({
    web: { listen: "127.0.0.1:10429", enable_lifecycle: false, badges: false },
    log: { level: "info" },
    budgets: {
      api: {
        rate: [{ requests: 60, per: "1m" }],
        share: "20%",
        linger: "0s",
        max_pause: "1h",
        blind_after: "5m",
        yield_below: "10%",
      },
    },
    upstreams: [
      {
        name: "api",
        url: "https://api.example.test/v1/resources",
        auth: { header: { name: "X-Api-Key", env: "TEST_KEY", key: "<secret>" } },
        headers: { "X-Team": "growth" },
        budget: "api",
        request_id_headers: [],
        schedule: "every 15s",
        cron: expect.stringMatching(/-59\/15/),
        timeout: "10s",
        confirm: 1,
        expect: { status: [200], json: true, max_body: "1MiB" },
        objective: { availability: "99.5%", latency: "1s" },
        connection: "fresh",
        proxy: "env",
        tls: { insecure_skip_verify: false },
        labels: {},
      },
    ],
  });
  expect(JSON.stringify(described)).not.toContain("test-key-1");
});

test("values are told by their place", async () => {
  const text = withUpstream(
    "auth: { none: true }",
    "values: [{ name: credits, path: /data/left, unit: usd, credit: true }, { name: jobs, header: X-Jobs }]",
  );
  const { config } = await loaded(text, {});
  expect(JSON.parse(JSON.stringify(writtenConfig(config)))).toMatchObject({
    upstreams: [
      {
        values: [
          { name: "credits", path: "/data/left", unit: "usd", credit: true },
          { name: "jobs", header: "x-jobs", credit: false },
        ],
      },
    ],
  });
});

test("what only some configs have is told too", async () => {
  const text = withUpstream(
    "auth: { query: { name: k, env: TEST_KEY } }",
    "proxy: http://proxy.example.test:3128",
    "degraded_above: 2s",
  )
    .replace(
      "rate: { requests: 60, per: 1m }",
      "rate: { requests: 60, per: 1m }\n    quota: { requests: 9000000, per: 30d }",
    )
    .concat(
      'web: { listen: "[::1]:0", probe_listen: "[::1]:10430", allowed_hosts: [status.example.test] }\nstate: { path: /var/lib/pacewatch.db }\n',
    );
  const { config } = await loaded(text, { TEST_KEY: "test-key-1" });
  expect(JSON.parse(JSON.stringify(writtenConfig(config)))).toMatchObject({
    web: { listen: "[::1]:0", probe_listen: "[::1]:10430", allowed_hosts: ["status.example.test"] },
    state: { path: "/var/lib/pacewatch.db" },
    budgets: { api: { quota: { requests: 9_000_000, per: "30d", on_exhaust: "refuse" } } },
    upstreams: [
      {
        auth: { query: { name: "k", env: "TEST_KEY", key: "<secret>" } },
        proxy: "http://proxy.example.test:3128",
        degraded_above: "2s",
      },
    ],
  });
});

test("a fleet is told without its password", async () => {
  const { config } = await loaded(
    `${withUpstream("auth: { none: true }", "confirm: 0")}
fleet:
  redis: { url: "rediss://redis.example.test/2", username: pacewatch, password: { env: TEST_PASSWORD } }
  mode: shard
  replicas: 3
  name: one
`,
    { TEST_PASSWORD: "test-key-of-redis" },
  );
  const described = JSON.parse(JSON.stringify(writtenConfig(config)));
  expect(described.fleet).toEqual({
    redis: {
      url: "rediss://redis.example.test:6379/2",
      tls: true,
      username: "pacewatch",
      password: { env: "TEST_PASSWORD", key: "<secret>" },
    },
    mode: "shard",
    replicas: 3,
    ttl: "10s",
    name: "one",
    prefix: "pacewatch",
  });
  expect(secretVariables(config, {})).toEqual(["TEST_PASSWORD"]);
});

test.each([
  ["/hooks/${TEST_TOKEN}/items", "/hooks/${TEST_TOKEN}/items", "/hooks/test-key-1%22/items"],
  [
    "/items?team=${TEST_TEAM}&of=${NONE:-all}",
    "/items?team=${TEST_TEAM}&of=${NONE:-all}",
    "/items?team=growth&of=all",
  ],
  ["/$${literal}/${TEST_TEAM}", "/$${literal}/${TEST_TEAM}", "/$%7Bliteral%7D/growth"],
  ["${TEST_PATH}", "/${TEST_PATH}", "/v1/growth"],
  ["${NONE:-/v1/items}?team=${TEST_TEAM}", "/${NONE:-/v1/items}?team=${TEST_TEAM}", "/v1/items?team=growth"],
  [
    "${NONE:-/v1/items?team=a}&of=${TEST_TEAM}",
    "/${NONE:-/v1/items?team=a}&of=${TEST_TEAM}",
    "/v1/items?team=a&of=growth",
  ],
  ["/a:-b/${TEST_TEAM}", "/a:-b/${TEST_TEAM}", "/a:-b/growth"],
])(
  "what a variable puts into the path %s is a secret: only the request has it",
  async (path, shown, sent) => {
    const environment = { TEST_TOKEN: 'test-key-1"', TEST_TEAM: "growth", TEST_PATH: "/v1/growth" };
    const { config } = await loaded(withUpstream(`path: "${path}"`), environment);
    const [upstream] = config.upstreams;
    if (upstream === undefined) throw new Error("there is no upstream");
    expect(JSON.stringify([config, writtenConfig(config)])).not.toMatch(/test-key-1|growth/);
    expect(JSON.parse(JSON.stringify(writtenConfig(config)))).toMatchObject({
      upstreams: [{ url: `https://api.example.test${shown}` }],
    });
    const { url, secrets } = opened(filledRequest(upstream, environment));
    expect(new URL(url).href).toBe(`https://api.example.test${sent}`);
    const variables = [...path.matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name]) => name);
    expect(secretVariables(config, {})).toEqual(variables);
    const [, variable = ""] = /(TEST_\w+)/.exec(path) ?? [];
    expect(secrets).toContain(Reflect.get(environment, variable));
  },
);

test("the settings of an access token are told without the client's secret", async () => {
  const auth =
    "auth: { oauth2: { token_url: https://login.example.test/token, client_id: pw, client_secret: { env: TEST_KEY }, scopes: [read], parameters: { audience: x } } }";
  const { config } = await loaded(withUpstream(auth), { TEST_KEY: "test-key-1" });
  const text = JSON.stringify(writtenConfig(config));
  expect(text).not.toContain("test-key-1");
  expect(text).toContain(
    '"auth":{"oauth2":{"token_url":"https://login.example.test/token","client_id":"pw","client_secret":{"env":"TEST_KEY","key":"<secret>"},"scopes":["read"],"parameters":{"audience":"x"},"client_auth":"basic","budget":"api"}}',
  );
  expect(secretVariables(config, {})).toEqual(["TEST_KEY"]);
});
