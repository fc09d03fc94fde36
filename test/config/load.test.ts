import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { load } from "../../src/app/features/sections.ts";
import { readYaml } from "../../src/config/read/yaml.ts";
import { ConfigDirectory, loadText, loaded, refusals, withUpstream } from "./config-file.ts";

describe("a config that says only what it must", () => {
  test("may read its cron in a time zone, expect a class of status codes, and name its own content type", async () => {
    const { config } = await loaded(
      withUpstream(
        "cron: 0 9 * * MON-FRI",
        "time_zone: Europe/Berlin",
        "headers: { Content-Type: application/vnd.api+json, User-Agent: growth-watch/1 }",
        "expect: { status: 2xx }",
      ),
    );
    expect(config.upstreams).toMatchObject([
      {
        schedule: {
          kind: "cron",
          expression: "0 0 9 * * MON-FRI Europe/Berlin",
          source: "cron 0 9 * * MON-FRI Europe/Berlin",
          longestGapMs: 73 * 3_600_000,
        },
        headers: { "Content-Type": "application/vnd.api+json", "User-Agent": "growth-watch/1" },
        expect: { status: ["2xx"] },
      },
    ]);
  });

  test("gets the defaults that the docs promise", async () => {
    const { config, warnings } = await loaded(withUpstream());
    expect(config).toMatchObject({
      web: {
        listen: { host: "127.0.0.1", port: 10_429 },
        probeListen: undefined,
        configFile: undefined,
        enableLifecycle: false,
        allowedHosts: undefined,
      },
      log: { level: "info" },
      state: undefined,
      fleet: undefined,
      budgets: [
        {
          name: "api",
          rates: [{ requests: 60, perMs: 60_000, label: "1m" }],
          share: 0.2,
          lingerMs: 0,
          maxPauseMs: 3_600_000,
          blindAfterMs: 300_000,
          yieldBelow: 0.1,
          quota: undefined,
        },
      ],
    });
    expect(config.upstreams).toEqual([
      {
        name: "api",
        url: "https://api.example.test/v1/resources",
        auth: { kind: "none" },
        headers: {},
        budgets: ["api"],
        schedule: {
          kind: "every",
          expression: expect.stringMatching(/^every 15s at \d+s$/),
          source: "every 15s",
          longestGapMs: 15_000,
        },
        timeoutMs: 10_000,
        confirm: 1,
        confirmOverMs: 10_000,
        expect: { status: [200], json: true, maxBodyBytes: 1_048_576 },
        degradedAboveMs: 1_000,
        requestIdHeaders: [],
        objective: { availability: 0.995, latencyMs: 1000 },
        connection: "fresh",
        proxy: "env",
        tls: {
          caFile: undefined,
          certFile: undefined,
          keyFile: undefined,
          serverName: undefined,
          insecureSkipVerify: false,
        },
        labels: {},
      },
    ]);
    expect(warnings).toEqual([]);
  });

  test.each([
    ["every: 15s", 10_000],
    ["every: 10s", 10_000],
    ["cron: '0 * * * *'", 10_000],
    ["cron: '0,3 * * * * *'", 3000],
  ])("with %s, a poll must end within %i ms", async (schedule, timeoutMs) => {
    const { config } = await loaded(withUpstream(schedule));
    expect(config.upstreams[0]?.timeoutMs).toBe(timeoutMs);
  });
});

test("a config that says everything is understood in full", async () => {
  await using directory = await ConfigDirectory.create();
  await directory.write("test-key-from-a-file\n", "key.txt");
  await directory.write("{}\n", "web.yaml");
  const text = `
web: { listen: "[::1]:0", probe_listen: ":10430", config_file: web.yaml, enable_lifecycle: true, allowed_hosts: [status.example.test] }
log: { level: debug }
state: { path: data/pacewatch.db }
budgets:
  api:
    rate: [{ requests: 1000, per: 1m }, { requests: 20, per: 1s }]
    share: 12.5%
    linger: 5s
    max_pause: 30m
    yield_below: 0%
    quota: { requests: 400000, per: 30d, on_exhaust: stop }
upstreams:
  - name: api
    base_url: https://api.example.test/email/
    path: /v2/things?page=1
    auth: { query: { name: api_key, file: key.txt } }
    headers: { X-Team: growth }
    budget: api
    cron: "*/30 * * * * *"
    timeout: 20s
    confirm: 0
    expect: { status: [200, 204], json: false, max_body: 64KiB }
    degraded_above: 2s
    objective: { availability: 99.9%, latency: 500ms }
    connection: reuse
    proxy: http://proxy.example.test:3128
    tls: { server_name: other.example.test, insecure_skip_verify: true }
    labels: { team: growth }
`;
  const loading = await load(await directory.write(text), { environment: {} });
  if (loading.kind === "refused") throw new Error(JSON.stringify(loading.faults));
  expect(loading.config).toMatchObject({
    web: {
      listen: { host: "::1", port: 0 },
      probeListen: { host: "0.0.0.0", port: 10_430 },
      configFile: directory.file("web.yaml"),
      enableLifecycle: true,
      allowedHosts: ["status.example.test"],
    },
    log: { level: "debug" },
    state: { path: join(directory.path, "data/pacewatch.db") },
  });
  expect(loading.config.budgets[0]).toEqual({
    name: "api",
    rates: [
      { requests: 1000, perMs: 60_000, label: "1m" },
      { requests: 20, perMs: 1000, label: "1s" },
    ],
    share: 0.125,
    lingerMs: 5000,
    maxPauseMs: 1_800_000,
    blindAfterMs: 300_000,
    yieldBelow: 0,
    quota: { most: 400_000, perMs: 2_592_000_000, onExhaust: "stop" },
  });
  expect(loading.config.upstreams[0]).toMatchObject({
    url: "https://api.example.test/email/v2/things?page=1",
    auth: { kind: "query", name: "api_key", secret: { file: directory.file("key.txt") } },
    schedule: {
      kind: "cron",
      expression: "*/30 * * * * *",
      source: "cron */30 * * * * *",
      longestGapMs: 30_000,
    },
    timeoutMs: 20_000,
    confirm: 0,
    expect: { status: [200, 204], json: false, maxBodyBytes: 65_536 },
    degradedAboveMs: 2000,
    requestIdHeaders: [],
    objective: { availability: 0.9990000000000001, latencyMs: 500 },
    connection: "reuse",
    proxy: "http://proxy.example.test:3128",
    tls: { serverName: "other.example.test", insecureSkipVerify: true },
    labels: { team: "growth" },
  });
});

test("an operator tells how an upstream refuses", async () => {
  const text = withUpstream(
    "expect: { refusals: [{ status: [403], json: /error/code, text: SPENT, means: quota }, { header: X-Wall, means: blocked }, { text: No Entry, means: status }] }",
  );
  const { config } = await loaded(text, {});
  expect(config.upstreams[0]?.expect.refusals).toEqual([
    { status: [403], json: "/error/code", text: "spent", means: "quota" },
    { header: "x-wall", means: "blocked" },
    { text: "no entry", means: "status" },
  ]);
});

test("what stands in a credit's place is not told, and that of another value is", async () => {
  const values = [
    { name: "left", path: "/left", credit: true },
    { name: "total", path: "/total" },
  ];
  const { config } = await loaded(withUpstream(`values: ${JSON.stringify(values)}`));
  expect(config.upstreams[0]?.expect.unshown).toEqual(["/left"]);
});

test("assertions are read", async () => {
  const body = [
    { path: "", type: "object" },
    { path: "/status", equals: "ok" },
    { path: "/plan", one_of: ["free", 2, true] },
    { path: "/credits", min: 0 },
    { path: "/data", min_items: 1, max_items: 100 },
    { path: "/error", exists: false },
    { path: "/id" },
  ];
  const headers = [
    { name: "x-version", equals: "2" },
    { name: "content-type", contains: "application/json" },
    { name: "x-debug", exists: false },
  ];
  const text = withUpstream(`expect: ${JSON.stringify({ body, headers })}`);
  const { config } = await loaded(
    text.replaceAll('"x-version"', '"X-Version"').replace("application", "APPLICATION"),
  );
  expect(config.upstreams[0]?.expect).toMatchObject({
    body: [
      { path: "", type: "object" },
      { path: "/status", equals: "ok" },
      { path: "/plan", oneOf: ["free", 2, true] },
      { path: "/credits", min: 0, max: undefined },
      { path: "/data", minItems: 1, maxItems: 100 },
      { path: "/error", exists: false },
      { path: "/id" },
    ],
    headers: [
      { name: "x-version", equals: "2" },
      { name: "content-type", contains: "application/json" },
      { name: "x-debug", exists: false },
    ],
  });
});

describe("variables", () => {
  test("are read in values of every type, and nowhere else", async () => {
    const text = withUpstream(
      "confirm: ${CONFIRM}",
      "timeout: ${TIMEOUT:-7s}",
      "expect: { json: '${JSON}', status: [200, '${STATUS}'] }",
    ).replace("requests: 60", 'requests: "${LIMIT}"');
    const { config } = await loaded(text, { CONFIRM: "0", JSON: "false", LIMIT: "90", STATUS: "204" });
    expect(config.budgets[0]?.rates[0]?.requests).toBe(90);
    expect(config.upstreams[0]).toMatchObject({
      confirm: 0,
      timeoutMs: 7000,
      expect: { json: false, status: [200, 204] },
    });
  });

  test.each([
    ["javascript:alert(1)", "an http:// or https:// URL"],
    ["data:text/html,x", "an http:// or https:// URL"],
    ["//evil.example", "an http:// or https:// URL"],
    ['https://a.example/"onclick="x', "an http:// or https:// URL"],
    ["https://a.example/\u202e", "an http:// or https:// URL"],
    ["https://user:test-key-1@a.example", "a URL without a user name or password"],
    ["https://a.example/?api_key=test-key-1", "a URL without a key in its query"],
  ])("as a link that leads astray are refused: %s", async (link, sentence) => {
    const [fault, ...others] = await refusals(withUpstream("links: { support: '${LINK}' }"), { LINK: link });
    expect(fault).toContain(`"upstreams[0].links.support" must be ${sentence}`);
    expect(fault).not.toContain("test-key");
    expect(others).toEqual([]);
  });

  test("cannot bring structure with them", async () => {
    const evil = 'x"\n    auth: { none: true }\n# ';
    expect(await refusals(withUpstream("labels: { team: '${TEAM}' }"), { TEAM: evil })).toEqual([
      '11:21: "upstreams[0].labels.team" must be a text of at most 128 characters (quote numbers) without control characters, received a string of 30 characters (with white space around it)',
    ]);
  });

  test("have a default that serves where they are unset or empty", async () => {
    const text = withUpstream("labels: { a: '${A:-one}', b: '${B:-two}', c: '${C:-}x', d: 'x$${D}${D}' }");
    const { config } = await loaded(text, { B: "", D: "4" });
    expect(config.upstreams[0]?.labels).toEqual({ a: "one", b: "two", c: "x", d: "x${D}4" });
  });

  test("must be quoted where braces mean something to YAML, and it says so", async () => {
    const sentence =
      'cannot read YAML: a variable inside { } or [ ] must be quoted, as in { key: "${NAME}" }';
    for (const line of ["labels: { a: ${A} }", "labels: { a: /${A:-b}, c: d }", "labels: [${A}]"]) {
      const said = await refusals(withUpstream(line), { A: "a" });
      expect(said).toEqual([expect.stringMatching(/^11:\d+: /)]);
      expect(said[0]).toContain(sentence);
    }
  });

  test("that are inherited by every object are not set", async () => {
    expect(await refusals(withUpstream("labels: { a: '${constructor}' }"))).toEqual([
      "11:18: the variable constructor is not set",
    ]);
  });
});

describe("a config that is read for its names and schedules alone", () => {
  const text = withUpstream(
    "base_url: ${UNSET_URL}/x",
    "auth: { bearer: { env: UNSET_KEY } }",
    "tls: { ca_file: no-such-file }",
    "headers: { X-Team: '${UNSET_TEAM}' }",
  );

  test("may lack variables, keys and files", async () => {
    const { config } = await loaded(text, {}, "structure");
    expect(config.upstreams[0]).toMatchObject({
      name: "api",
      headers: { "X-Team": "unset" },
      schedule: { source: "every 15s" },
    });
    expect(await refusals(text)).toHaveLength(4);
  });

  test("has no key in it all the same, beside a variable that is not set", async () => {
    const must =
      "must not contain a key: a key is never written in the config, use a variable such as ${NAME}, or auth";
    const path = withUpstream("path: /v1/${UNSET}/${TOKEN:-test-key-0123}");
    expect(await refusals(path, {}, "structure")).toEqual([`11:11: "upstreams[0].path" ${must}`]);
    const body = withUpstream("method: POST", "body: { json: { to: '${UNSET} ${TOKEN:-test-key-0123}' } }");
    expect(await refusals(body, {}, "structure")).toEqual([`12:25: "upstreams[0].body.json.to" ${must}`]);
    const header = await refusals(withUpstream("headers: { X-Api-Key: '${UNSET}' }"), {}, "structure");
    expect(header).toEqual([expect.stringContaining('"upstreams[0].headers" must not contain a key')]);
  });

  test("must have what rules are made of", async () => {
    const nameless = withUpstream("name: ${UNSET_NAME}");
    expect(await refusals(nameless, {}, "structure")).toEqual(["10:11: the variable UNSET_NAME is not set"]);
  });

  const shipped = [
    "config/pacewatch.yaml",
    "deploy/systemd/pacewatch.yaml",
    "deploy/kubernetes/single/pacewatch.yaml",
    "deploy/kubernetes/fleet/pacewatch.yaml",
    "deploy/compose/fleet/pacewatch.yaml",
    ...readdirSync("docs/examples").map((name) => `docs/examples/${name}`),
  ].filter((path) => path.endsWith(".yaml"));

  test.each(shipped)("may be %s, where none of its variables is set", async (path) => {
    const loading = await load(path, { environment: {}, resolve: "structure" });
    expect(loading.kind === "refused" && loading.faults).toBe(false);
  });

  const everything = {
    web: {
      listen: ":1",
      probe_listen: ":2",
      config_file: "web.yaml",
      enable_lifecycle: false,
      allowed_hosts: ["a.example"],
    },
    log: { level: "info" },
    state: { path: "state.db" },
    fleet: {
      lock: {
        redis: {
          sentinel: { master: "main", nodes: ["10.0.0.1:6379"] },
          tls: true,
          username: "pacewatch",
          password: { file: "password" },
          ca_file: "ca.pem",
          cert_file: "own.pem",
          key_file: "own.key",
          server_name: "redis.example",
          key: "p",
        },
      },
      ttl: "10s",
      name: "one",
      advertise: "https://one.example",
    },
    deny_addresses: ["10.0.0.0/8"],
    budgets: { api: { rate: { requests: 6000, per: "1m" } } },
    defaults: { timeout: "9s", proxy: "none" },
    upstreams: [
      {
        name: "api",
        base_url: "https://api.example",
        path: "/v1",
        auth: {
          oauth2: {
            token_url: "https://token.example",
            client_id: "id",
            client_secret: { env: "SECRET" },
            scopes: ["read"],
            parameters: { audience: "a" },
            client_auth: "body",
            ca_file: "ca.pem",
          },
        },
        headers: { "X-Team": "a" },
        budget: ["api"],
        every: "15s",
        expect: {
          status: [200, 404],
          max_body: "1MiB",
          refusals: [{ status: [403], header: "x-error", text: "no", means: "rate" }],
          body: [
            { path: "/a", one_of: ["x"] },
            { path: "/b", min: 1 },
            { path: "/c", json_schema: "schema.json" },
          ],
          headers: [{ name: "x-a", contains: "a" }],
        },
        degraded_above: "2s",
        request_id_headers: ["x-id"],
        values: [
          { name: "credits", path: "/left", unit: "usd", credit: true },
          { name: "left", header: "x-left" },
        ],
        objective: { availability: "99%", latency: "1s" },
        connection: "reuse",
        tls: { ca_file: "ca.pem", cert_file: "a.pem", key_file: "a.key", server_name: "a.example" },
        labels: { team: "a" },
        links: { support: "https://support.example" },
      },
      {
        name: "other",
        base_url: "https://api.example",
        auth: { header: { name: "X-Key", env: "KEY" } },
        budget: "api",
        cron: "* * * * *",
        confirm: 1,
        labels: { team: "b" },
      },
    ],
  };

  test("lacks nothing, or says which variable it lacks, whichever of its values is not set", async () => {
    const refused: (readonly string[])[] = [];
    const needed: string[] = [];
    for (const [path, change] of [["nothing", (value: unknown) => value] as const, ...leavesOf(everything)]) {
      const loading = await loadText(JSON.stringify(change(everything)), {}, "structure");
      if (loading.kind === "loaded") continue;
      const faults = loading.faults.map(({ message }) => message);
      if (faults.length === 0 || faults.some((message) => message !== "the variable UNSET is not set"))
        refused.push([path, ...faults]);
      else needed.push(path);
    }
    expect(refused).toEqual([]);
    // What rules and the proof are made of.
    expect(needed).toEqual([
      "budgets.api.rate.requests",
      "budgets.api.rate.per",
      "defaults.timeout",
      "upstreams.0.name",
      "upstreams.0.budget.0",
      "upstreams.0.every",
      "upstreams.0.values.0.name",
      "upstreams.0.values.1.name",
      "upstreams.0.objective.availability",
      "upstreams.0.objective.latency",
      "upstreams.0.labels.team",
      "upstreams.1.name",
      "upstreams.1.budget",
      "upstreams.1.cron",
      "upstreams.1.confirm",
      "upstreams.1.labels.team",
    ]);
  });
});

type Change = (value: unknown) => unknown;

/** Each leaf, with what puts an unset variable into its place. */
function leavesOf(value: unknown): readonly (readonly [string, Change])[] {
  if (typeof value !== "object" || value === null) return [["", () => "${UNSET}"]];
  return Object.entries(value).flatMap(([key, child]) =>
    leavesOf(child).map(([path, change]) => {
      const changed: Change = (parent) => {
        const copy: Record<string, unknown> = Object.assign(Array.isArray(parent) ? [] : {}, parent);
        copy[key] = change(copy[key]);
        return copy;
      };
      return [path === "" ? key : `${key}.${path}`, changed] as const;
    }),
  );
}

test("a flag may come from a variable, also where another key depends on it", async () => {
  const fleet = (tls: string): string => `
fleet:
  lock:
    redis: { sentinel: { master: m, nodes: ["10.0.0.1:26379"] }, tls: "${tls}", server_name: redis.example }
`;
  const text = withUpstream("expect: { json: '${JSON}', body: [{ path: /a }] }");
  expect((await loadText(text + fleet("${TLS}"), { TLS: "true", JSON: "true" })).kind).toBe("loaded");
  expect(await refusals(text + fleet("${TLS}"), { TLS: "false", JSON: "false" })).toEqual([
    expect.stringContaining('"upstreams[0].expect.body[0].path" must not be set where json is false'),
    expect.stringContaining('"fleet.lock.redis.server_name" must be set only where tls is true'),
  ]);
  expect(await refusals(text + fleet("${TLS}"), { JSON: "true" })).toEqual([
    expect.stringContaining("the variable TLS is not set"),
  ]);
});

test.each([
  [2_290, 0, undefined],
  [2_291, 0, "2291 budgets with 0 of quota and spend"],
  [120, 120, undefined],
  [121, 121, "121 budgets with 121 of quota and spend"],
])(
  "a fleet of %d budgets with %d quotas is told whether its notes have room: %s",
  async (budgets, quotas, told) => {
    const budget = (index: number): object => ({
      rate: { requests: 100, per: "1s" },
      ...(index < quotas && { quota: { requests: 1_000_000, per: "1d" } }),
    });
    const config = {
      fleet: { lock: { redis: { url: "redis://127.0.0.1" } } },
      budgets: Object.fromEntries(
        Array.from({ length: budgets }, (_, index) => [`b${index}`, budget(index)]),
      ),
      upstreams: [
        { name: "a", base_url: "https://a.example", auth: { none: true }, budget: "b0", every: "1h" },
      ],
    };
    const loading = await loadText(JSON.stringify(config));
    const faults = loading.kind === "loaded" ? [] : loading.faults.map(({ message }) => message);
    expect(faults).toEqual(
      told === undefined
        ? []
        : [
            `"budgets" must be fewer with fleet: what its next leader must know of ${told} has no room beside a lock: run several fleets, each with budgets and a lock.redis.key of its own`,
          ],
    );
  },
);

describe("how a base and a path are joined", () => {
  test.each([
    ["https://api.example.test", "/v1/resources", "https://api.example.test/v1/resources"],
    ["https://api.example.test/", "/v1/resources", "https://api.example.test/v1/resources"],
    ["https://api.example.test/email//", "/v1/resources", "https://api.example.test/email/v1/resources"],
    [
      "https://api.example.test/email?team=a",
      "/v1?page=2",
      "https://api.example.test/email/v1?team=a&page=2",
    ],
    ["http://127.0.0.1:8080", "/", "http://127.0.0.1:8080/"],
    ["HTTPS://API.example.test:443/Email", "/v1", "https://api.example.test/Email/v1"],
  ])("%s and %s", async (base, path, url) => {
    const { config } = await loaded(withUpstream(`base_url: ${base}`, `path: ${path}`));
    expect(config.upstreams[0]?.url).toBe(url);
  });

  test.each([
    "api.example.test",
    "https:/api.example.test",
    "https://",
    "https:///v1",
    "https://api example.test",
    "file:///etc/passwd",
    "https://@api.example.test:99999",
  ])("%s is no base", async (base) => {
    const [fault] = await refusals(withUpstream(`base_url: "${base}"`));
    expect(fault).toMatch(/"upstreams\[0\].base_url" must be an http:\/\/ or https:\/\/ URL with a host/);
  });
});

describe("what looks like a key is refused wherever it stands", () => {
  test.each([
    "Authorization",
    "Proxy-Authorization",
    "Cookie",
    "X-Api-Key",
    "apikey",
    "X-Auth-Token",
    "X-Access-Key",
    "X-Client-Secret",
    "X-Vault-Token",
    "X-Signature",
  ])("in a header named %s", async (name) => {
    const [fault] = await refusals(withUpstream(`headers: { ${name}: test-key-1 }`));
    expect(fault).toContain('"upstreams[0].headers" must not contain a key');
  });

  test.each(["X-Team", "Accept", "X-Author", "X-Environment", "X-Request-Source", "OpenAI-Organization"])(
    "but not in a header named %s",
    async (name) => {
      const { config } = await loaded(withUpstream(`headers: { ${name}: growth }`));
      expect(config.upstreams[0]?.headers).toEqual({ [name]: "growth" });
    },
  );

  test.each([
    "api_key",
    "apikey",
    "key",
    "access_token",
    "sig",
    "X-Amz-Signature",
    "client_secret",
    "password",
  ])("in a parameter named %s", async (name) => {
    const [fault] = await refusals(
      withUpstream(`base_url: "https://api.example.test/?a=1&${name}=test-key-1"`),
    );
    expect(fault).toContain("must be a URL without a key in its query");
    expect(fault).not.toContain("test-key-1");
  });

  test("a key that a variable brings into a URL is not shown", async () => {
    const said = await refusals(withUpstream("base_url: https://user:${KEY}@api.example.test"), {
      KEY: "test-key-1",
    });
    expect(said).toHaveLength(1);
    expect(said[0]).not.toContain("test-key-1");
  });
});

describe("what is allowed and probably not meant is told with its place", () => {
  async function warned(text: string, environment: Record<string, string> = {}): Promise<readonly string[]> {
    const { warnings } = await loaded(text, environment);
    return warnings.map(({ line, column, message }) => `${line}:${column}: ${message}`);
  }

  test("a variable in a path", async () => {
    const path = 'path: "/hooks/${TEST_TOKEN}/items?of=${TEST_TEAM}"';
    const environment = { TEST_TOKEN: "test-key-1", TEST_TEAM: "growth" };
    expect(await warned(withUpstream(path), environment)).toEqual([
      '11:11: upstream "api" has ${TEST_TOKEN} and ${TEST_TEAM} in its path: treated as a secret here, but proxies and servers log URLs, so a key belongs into auth',
    ]);
  });

  test("a deadline that reaches over the next slot", async () => {
    expect(
      await warned(withUpstream("every: 5s", "timeout: 30s").replace("requests: 60", "requests: 600")),
    ).toEqual([
      '11:14: upstream "api" has a timeout of 30s, and only 5s between two slots: while a poll takes longer than that, slots are skipped',
    ]);
  });

  test("a key in the clear", async () => {
    const auth = "auth: { bearer: { env: TEST_KEY } }";
    const environment = { TEST_KEY: "test-key-1" };
    expect(await warned(withUpstream("base_url: http://api.example.test", auth), environment)).toEqual([
      '9:15: upstream "api" sends its key unencrypted: use https://',
    ]);
    expect(await warned(withUpstream("base_url: http://127.0.0.1:8080", auth), environment)).toEqual([]);
    expect(await warned(withUpstream("base_url: http://[::1]:8080", auth), environment)).toEqual([]);
  });

  test("certificates that are not looked at, days that must match twice, a threshold that is never reached", async () => {
    expect(
      await warned(
        withUpstream(
          "cron: 0 0 13 * 5",
          "tls: { insecure_skip_verify: true }",
          "timeout: 5s",
          "degraded_above: 5s",
        ),
      ),
    ).toEqual([
      '10:11: upstream "api" is polled only on days that match both day-of-month and day-of-week',
      '10:11: upstream "api" is polled too rarely for its 1h error-budget page (99.5% at cron 0 0 13 * 5), which the rules leave out; poll at least every 2m',
      '11:34: upstream "api" trusts any certificate, so anybody in between can read its key',
      '13:21: upstream "api" can never be degraded: a poll ends after 5s, its timeout',
    ]);
  });

  test("a key that is sent with more than the key", async () => {
    const auth = "auth: { bearer: { env: TEST_KEY } }";
    expect(await warned(withUpstream(auth), { TEST_KEY: '"test-key-1"' })).toEqual([
      '10:21: "upstreams[0].auth.bearer" holds a key with quotes around it, which are sent too',
    ]);
    expect(await warned(withUpstream(auth), { TEST_KEY: "Bearer test-key-1" })).toEqual([
      '10:21: "upstreams[0].auth.bearer" holds a key that begins with "Bearer", which is sent before it anyway',
    ]);
  });

  test("one key on two budgets, even where it comes from two places", async () => {
    const text = `
budgets: { a: { rate: { requests: 60, per: 1m } }, b: { rate: { requests: 60, per: 1m } } }
upstreams:
  - { name: a, base_url: "https://a.example.test", auth: { bearer: { env: KEY_A } }, budget: a, every: 15s }
  - { name: b, base_url: "https://b.example.test", auth: { bearer: { env: KEY_B } }, budget: b, every: 15s }
`;
    expect(await warned(text, { KEY_A: "test-key-1", KEY_B: "test-key-1" })).toEqual([
      '5:94: upstreams "a" and "b" use the same key but draw on the budgets "a" and "b": what one key may send should be one budget',
    ]);
    expect(await warned(text, { KEY_A: "test-key-1", KEY_B: "test-key-2" })).toEqual([]);
  });
});

test("nobody is trusted by a variable: a config is refused where Node.js would believe any certificate", async () => {
  const trusting = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };
  expect(await refusals(withUpstream(), trusting)).toEqual([
    "1:1: the variable NODE_TLS_REJECT_UNAUTHORIZED must not be 0, as then anybody in between could read the keys: for an authority of your own, set tls.ca_file",
  ]);
  expect((await loadText(withUpstream(), trusting, "structure")).kind).toBe("loaded");
  expect((await loadText(withUpstream(), { NODE_TLS_REJECT_UNAUTHORIZED: "1" })).kind).toBe("loaded");
});

describe("files that no editor would have written", () => {
  test("a file that is not there", async () => {
    await using directory = await ConfigDirectory.create();
    expect(await load(directory.file("nowhere.yaml"), { environment: {} })).toMatchObject({
      kind: "refused",
      faults: [
        {
          file: directory.file("nowhere.yaml"),
          line: 1,
          column: 1,
          message: `cannot read config: there is no such file. Give yours with --config FILE, or begin with a copy of ${join(import.meta.dirname, "../../config/pacewatch.yaml")}; docs/configuration.md in the package describes every key`,
        },
      ],
      proof: undefined,
    });
    expect(await load(directory.path, { environment: {} })).toMatchObject({
      faults: [{ message: "cannot read config: it is a directory" }],
    });
  });

  test("what is no file is refused at once, wherever the config names it", async () => {
    await using directory = await ConfigDirectory.create();
    const pipe = directory.file("pipe");
    execFileSync("mkfifo", [pipe]);
    expect(await load(pipe, { environment: {} })).toMatchObject({
      faults: [{ line: 1, column: 1, message: "cannot read config: it is a pipe, not a file" }],
    });
    expect(await load("/dev/zero", { environment: {} })).toMatchObject({
      faults: [{ line: 1, column: 1, message: "cannot read config: it is a device, not a file" }],
    });
    const everywhere = [
      `web: { config_file: ${pipe} }`,
      withUpstream(
        `auth: { bearer: { file: ${pipe} } }`,
        `tls: { ca_file: /dev/zero, cert_file: ${directory.path}, key_file: ${pipe} }`,
      ),
    ].join("\n");
    expect(await refusals(everywhere)).toEqual([
      '1:21: "web.config_file" must be a readable file: it is a pipe, not a file: pipe',
      '11:29: "upstreams[0].auth.bearer.file": cannot read key: its file cannot be read: it is a pipe, not a file',
      '12:21: "upstreams[0].tls.ca_file" must be a readable file: it is a device, not a file: /dev/zero',
      expect.stringMatching(/"upstreams\[0\]\.tls\.cert_file" must be a readable file: it is a directory: $/),
      expect.stringMatching(
        /"upstreams\[0\]\.tls\.key_file" must be a readable file: it is a pipe, not a file: pipe$/,
      ),
    ]);
  });

  test.each([
    ["on one line", "? ".repeat(3000)],
    ["each deeper by one", Array.from({ length: 3000 }, (_, depth) => `${" ".repeat(depth)}?\n`).join("")],
    [
      "and back at once",
      `${Array.from({ length: 3000 }, (_, depth) => `${" ".repeat(depth)}? \n`).join("")}a: 1\n`,
    ],
  ])("keys within keys, three thousand deep, %s", async (_, text) => {
    expect(await refusals(text)).toEqual([
      expect.stringMatching(/^\d+:\d+: cannot read YAML: the file is nested too deeply$/),
    ]);
  });

  test("a file that is too long, UTF-16, or cut inside a letter", async () => {
    expect(await refusals(`# ${"x".repeat(8 * 1024 * 1024)}`)).toEqual([
      "1:1: cannot read config: it is longer than 8MiB",
    ]);
    expect(await refusals(Buffer.from("budgets: {}", "utf16le"))).toEqual([
      "1:2: the file must be UTF-8, received a control character (binary data, or UTF-16?)",
    ]);
    expect(await refusals(Buffer.from("a: 1\n# é", "utf8").subarray(0, -1))).toEqual([
      "2:1: the file must be UTF-8, received a line that is not",
    ]);
  });

  test("a byte order mark and Windows line ends are no fault, and places stay right", async () => {
    const windows = withUpstream().replaceAll("\n", "\r\n");
    expect((await loadText(`\uFEFF${windows}`)).kind).toBe("loaded");
    expect(await refusals(windows.replace("every: 15s", "every: 1500ms"))).toEqual([
      expect.stringMatching(/^10:12: "upstreams\[0\]\.every" must be a period/),
    ]);
  });

  test.each([
    ["brackets without end", "[".repeat(20_000)],
    ["mappings without end", "{a: ".repeat(20_000)],
    ["dashes without end", "- ".repeat(40_000)],
    ["references without end", `a: "${"${A:-".repeat(150_000)}"`],
    ["one key after the other", Array.from({ length: 3_000 }, (_, index) => `k${index}: 1`).join("\n")],
    ["lists in aliases", `a: &a [${"x,".repeat(100)}]\n${"b: [*a, *a, *a, *a]\n".repeat(1500)}`],
  ])("%s are refused in a moment, with at most 201 sentences", async (_, text) => {
    const said = await refusals(text);
    expect(said.length).toBeGreaterThan(0);
    expect(said.length).toBeLessThanOrEqual(201);
    expect(said.join("")).not.toMatch(/node_modules|RangeError|at .*\.ts/);
  });

  test("faults beyond the two hundredth are counted", async () => {
    const said = await refusals(Array.from({ length: 300 }, (_, index) => `k${index}: 1`).join("\n"));
    expect(said).toHaveLength(201);
    expect(said.at(-1)).toMatch(/: 102 more faults from here on$/);
  });
});

test("an alias stands for a whole value", async () => {
  const text = `
budgets: { api: { rate: &rate { requests: 60, per: 1m } }, other: { rate: *rate } }
upstreams:
  - { name: a, base_url: "https://a.example.test", auth: &auth { none: true }, budget: api, every: 15s }
  - { name: b, base_url: "https://b.example.test", auth: *auth, budget: other, every: 15s }
`;
  const { config } = await loaded(text);
  expect(config.budgets[1]?.rates).toEqual(config.budgets[0]?.rates);
});

test("a change of the file changes its digest, and nothing else does", async () => {
  const [first, same, other] = await Promise.all([
    loaded(withUpstream()),
    loaded(withUpstream()),
    loaded(withUpstream("confirm: 0")),
  ]);
  expect(same?.digest).toBe(first?.digest);
  expect(other?.digest).not.toBe(first?.digest);
});

test("every file that a config names is told, each once, also where it is not there", async () => {
  await using directory = await ConfigDirectory.create();
  const upstream = (name: string): string =>
    `  - { name: ${name}, base_url: "https://api.example.test", auth: { bearer: { file: a.key } }, budget: api, every: 30s, tls: { ca_file: ca.pem } }`;
  const text = `
web: { config_file: web.yaml }
fleet:
  lock:
    redis: { url: "rediss://127.0.0.1:6379", password: { file: redis.key }, cert_file: cert.pem, key_file: key.pem }
budgets: { api: { rate: { requests: 60, per: 1m } } }
upstreams:
${upstream("a")}
${upstream("b")}
`;
  const loading = await load(await directory.write(text), { environment: {} });
  expect(loading.kind).toBe("refused");
  const names = ["web.yaml", "redis.key", "a.key", "cert.pem", "key.pem", "ca.pem"];
  expect([...loading.files.keys()].toSorted()).toEqual(names.map((name) => directory.file(name)).toSorted());
});

test("the numbers are told where they are all that is wrong", async () => {
  const loading = await loadText(withUpstream("every: 1s"));
  expect(loading).toMatchObject({
    kind: "refused",
    proof: { budgets: [{ rates: [{ demand: 120, cap: 12 }] }] },
  });
  expect(await loadText(withUpstream("every: 1s", "confirm: x"))).toMatchObject({ proof: undefined });
});

test("the configs that the README shows are accepted where only what it names is set", async () => {
  const readme = await readFile(join(import.meta.dirname, "../../README.md"), "utf8");
  const shown = [...readme.matchAll(/^```yaml\n(.+?)^```/gms)].map(([, yaml = ""]) => yaml);
  const config = shown.filter((yaml) => /^(?:budgets|upstreams|fleet):/m.test(yaml)).join("");
  const environment = {
    AI_ROUTER_BASE_URL: "https://router.example.test",
    AI_ROUTER_API_KEY: "test-key-router",
    PACEWATCH_REDIS_URL: "redis://127.0.0.1:6379",
    HOSTNAME: "pacewatch-0",
  };
  const { warnings, config: read } = await loaded(config, environment);
  expect(read).toMatchObject({ upstreams: [{ name: "ai-router" }], fleet: { ttlMs: 10_000 } });
  expect(warnings).toEqual([]);
});

test("upstreams that are alike share their keys by merge keys, and each overrides what it says itself", async () => {
  const { config } = await loaded(`
budgets: { api: { rate: { requests: 600, per: 1m } } }
upstreams:
  - &first
    name: first
    base_url: https://api.example.test
    auth: { none: true }
    budget: api
    every: 15s
    labels: &labels { team: growth, tier: gold }
  - { <<: *first, name: second, every: 30s }
  - { name: third, <<: [{ confirm: 0 }, { confirm: 2, timeout: 5s }, *first], labels: { <<: *labels, tier: tin } }
`);
  const told = config.upstreams.map(({ name, schedule, confirm, timeoutMs, labels }) => ({
    name,
    schedule: schedule.source,
    confirm,
    timeoutMs,
    labels,
  }));
  const gold = { team: "growth", tier: "gold" };
  expect(told).toEqual([
    { name: "first", schedule: "every 15s", confirm: 1, timeoutMs: 10_000, labels: gold },
    { name: "second", schedule: "every 30s", confirm: 1, timeoutMs: 10_000, labels: gold },
    {
      name: "third",
      schedule: "every 15s",
      confirm: 0,
      timeoutMs: 5_000,
      labels: { team: "growth", tier: "tin" },
    },
  ]);
});

describe("what upstreams share in defaults", () => {
  const shared = `
budgets: { api: { rate: { requests: 6000, per: 1m } }, other: { rate: { requests: 6000, per: 1m } } }
defaults:
  base_url: https://api.example.test
  path: /v2
  auth: { header: { name: X-Key, env: TEST_KEY } }
  headers: { X-Team: growth, X-Region: eu }
  budget: api
  every: 15s
  timeout: 5s
  confirm: 2
  expect: { status: [200, 204], json: false }
  degraded_above: 2s
  objective: { availability: 99%, latency: 2s }
  connection: reuse
  proxy: none
  tls: { insecure_skip_verify: true, server_name: other.example.test }
  labels: { team: growth, tier: gold }
upstreams:
`;

  test("is what each has that says nothing itself", async () => {
    const { config } = await loaded(`${shared}  - { name: a }\n  - { name: b, path: /v3 }\n`, {
      TEST_KEY: "test-key-1",
    });
    const [a, b] = config.upstreams;
    expect(a).toMatchObject({
      url: "https://api.example.test/v2",
      auth: { kind: "header", name: "X-Key", secret: { env: "TEST_KEY" } },
      headers: { "X-Team": "growth", "X-Region": "eu" },
      budgets: ["api"],
      schedule: { source: "every 15s" },
      timeoutMs: 5000,
      confirm: 2,
      expect: { status: [200, 204], json: false, maxBodyBytes: 1_048_576 },
      degradedAboveMs: 2000,
      objective: { availability: 0.99, latencyMs: 2000 },
      connection: "reuse",
      proxy: "none",
      tls: { insecureSkipVerify: true, serverName: "other.example.test" },
      labels: { team: "growth", tier: "gold" },
    });
    expect(b).toEqual({ ...a, name: "b", url: "https://api.example.test/v3", schedule: b?.schedule });
  });

  test("gives way to what an upstream says: whole, and in headers, expect, objective and labels key by key", async () => {
    const { config } = await loaded(
      `${shared}  - name: own
    base_url: http://127.0.0.1:8080
    auth: { none: true }
    headers: { x-team: billing, X-More: "1" }
    budget: other
    every: 30s
    expect: { status: [200] }
    objective: { latency: 1s }
    tls: {}
    labels: { tier: tin, more: "yes" }
`,
    );
    expect(config.upstreams[0]).toMatchObject({
      url: "http://127.0.0.1:8080/v2",
      auth: { kind: "none" },
      budgets: ["other"],
      schedule: { source: "every 30s" },
      expect: { status: [200], json: false },
      objective: { availability: 0.99, latencyMs: 1000 },
      tls: { insecureSkipVerify: false, serverName: undefined },
    });
    expect(config.upstreams[0]?.headers).toEqual({ "x-team": "billing", "X-More": "1", "X-Region": "eu" });
    expect(config.upstreams[0]?.labels).toEqual({ team: "growth", tier: "tin", more: "yes" });
  });

  test.each([
    ["every: 15s", "cron: '*/30 * * * * *'", "cron */30 * * * * *"],
    ["cron: '*/30 * * * * *'", "every: 15s", "every 15s"],
  ])("with %s there, %s of an upstream takes its place", async (there, own, source) => {
    const text = `${withUpstream(own)}defaults: { ${there} }\n`;
    expect((await loaded(text)).config.upstreams[0]?.schedule.source).toBe(source);
  });

  test("may itself come from an anchor, and an upstream's merge key comes before it", async () => {
    const text = `
budgets: { api: { rate: { requests: 6000, per: 1m } } }
defaults: &shared { base_url: https://api.example.test, auth: { none: true }, budget: api, every: 15s, confirm: 0 }
upstreams:
  - &slow { name: a, every: 1m, confirm: 3 }
  - { <<: *slow, name: b }
  - { <<: *shared, name: c, cron: "0 * * * *", every: 30s }
`;
    expect(await refusals(text)).toEqual(['7:29: "upstreams[2]" must have every or cron, received both']);
    const { config } = await loaded(text.replace(', cron: "0 * * * *"', ""));
    expect(config.upstreams.map(({ schedule, confirm }) => `${schedule.source} ${confirm}`)).toEqual([
      "every 1m 3",
      "every 1m 3",
      "every 30s 0",
    ]);
  });

  test("cannot be unset by an empty value, which is refused as everywhere", async () => {
    expect(await refusals(`${shared}  - { name: a, auth: { none: true }, degraded_above: }\n`)).toEqual([
      '20:38: "upstreams[0].degraded_above" must be a duration from 1ms to 1m, such as 2s, received nothing',
    ]);
  });

  test("may come from variables, of which a config read for its structure needs few", async () => {
    const text = `
budgets: { api: { rate: { requests: 6000, per: 1m } } }
defaults:
  base_url: \${URL}
  auth: { bearer: { env: "\${WHICH}" } }
  headers: { X-Team: "\${TEAM}" }
  confirm: \${CONFIRM}
  budget: api
  every: 15s
upstreams: [{ name: a }, { name: b }]
`;
    const environment = {
      CONFIRM: "3",
      URL: "https://api.example.test",
      WHICH: "TEST_KEY",
      TEST_KEY: "test-key-1",
      TEAM: "growth",
    };
    const { config } = await loaded(text, environment);
    expect(config.upstreams.map(({ confirm, headers }) => [confirm, headers])).toEqual([
      [3, { "X-Team": "growth" }],
      [3, { "X-Team": "growth" }],
    ]);
    expect((await loaded(text, { CONFIRM: "3" }, "structure")).config.upstreams).toHaveLength(2);
    const unset = await loadText(text, {}, "structure");
    expect(unset.kind === "refused" && unset.faults.map(({ message }) => message)).toEqual([
      "the variable CONFIRM is not set",
    ]);
  });

  test("is refused where it would be too much to check", async () => {
    const labels = Array.from({ length: 1000 }, (_, index) => `l${index}: v`).join(", ");
    const upstreams = Array.from({ length: 1000 }, (_, index) => `{ name: u${index} }`).join(", ");
    const shared = "base_url: https://a.example.test, auth: { none: true }, budget: api, every: 1h";
    expect(
      await refusals(
        `budgets: { api: { rate: { requests: 6000, per: 1m } } }\ndefaults: { ${shared}, labels: { ${labels} } }\nupstreams: [${upstreams}]\n`,
      ),
    ).toEqual([
      '3:12: "upstreams" must be fewer: with all that they have from defaults and each, a config may have at most 600000 values',
    ]);
  });
});

test.each([
  [
    "a: { requests: 100 per: 1m }",
    "1:16",
    "a comma is missing between entries, or a block is inside [ ] or { }",
  ],
  [
    "a:\n  - name: b\n   path: /c",
    "3:1",
    "a closing bracket, a comma, or a colon and a space is missing, or this line is not indented like the one above",
  ],
  [`a: "it's"\nb: 'it's'`, "2:8", "this belongs to no value: quote the whole value, or remove it"],
  ['a: "b"\nc: "\n', "2:4", "this quote is not closed"],
  ['a: ["b", "c]\nd: 1\n', "1:10", "this quote is not closed"],
  ["a: * * * * *", "1:4", 'a value that begins with * or & must be quoted, as in cron: "*/15 * * * *"'],
  [
    "a:\n  - b: 1\n     c: 2",
    "2:8",
    'a value must not contain another ": " unless it is quoted: is the next line indented too far?',
  ],
])("what is wrong with the YAML of %j is told as people make the mistake", (text, place, sentence) => {
  const { faults } = readYaml(Buffer.from(text), "pacewatch.yaml");
  expect(faults.map(({ line, column, message }) => `${line}:${column}: ${message}`)).toEqual([
    `${place}: cannot read YAML: ${sentence}`,
  ]);
});
