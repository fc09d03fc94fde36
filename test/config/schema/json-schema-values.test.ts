import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { CONFIG_SCHEMA } from "../../../src/app/features/sections.ts";
import { configJsonSchemaText } from "../../../src/config/schema/json-schema.ts";
import { loadText } from "../config-file.ts";

const isValid = new Ajv2020({ allErrors: false }).compile(JSON.parse(configJsonSchemaText(CONFIG_SCHEMA)));

const CONTRACT = join(import.meta.dirname, "../../../docs/examples/email-domains.schema.json");

type Place = "upstream" | "budget" | "rate" | "quota" | "fleet" | "redis" | "web";

/** A config that is accepted; a test changes one line of one section of it. */
const VALID: Readonly<Record<Place, readonly string[]>> = {
  upstream: [
    "name: api",
    "base_url: https://api.example.test",
    "auth: { none: true }",
    "budget: api",
    "every: 30s",
  ],
  budget: [],
  rate: ["requests: 600000", "per: 1m"],
  quota: ["requests: 1000000", "per: 30d", "on_exhaust: stop"],
  fleet: ["ttl: 10s"],
  redis: ["url: redis://127.0.0.1:6379"],
  web: ["listen: 127.0.0.1:0"],
};

function configWith(place: Place, line: string): string {
  const key = line.split(":")[0] ?? "";
  const replaced = key === "cron" ? "every" : ["sentinel", "{}"].includes(key) ? "url" : key;
  const lines = (section: Place): readonly string[] =>
    section === place
      ? [...VALID[section].filter((other) => !other.startsWith(`${replaced}:`)), line]
      : VALID[section];
  const flow = (section: Place): string =>
    `{ ${lines(section)
      .filter((text) => text !== "{}")
      .join(", ")} }`;
  return `web: ${flow("web")}
fleet:
  lock: { redis: ${flow("redis")} }
${lines("fleet")
  .map((text) => `  ${text}`)
  .join("\n")}
budgets:
  api:
    rate: ${flow("rate")}
    quota: ${flow("quota")}
${lines("budget")
  .map((text) => `    ${text}`)
  .join("\n")}
upstreams:
  -
${lines("upstream")
  .map((text) => `    ${text}`)
  .join("\n")}
`;
}

const ACCEPTED: Readonly<Record<Place, readonly string[]>> = {
  upstream: [
    "every: 1s",
    "every: 60s",
    "every: 90s",
    "every: 7s",
    "every: 15000ms",
    "every: 1d",
    "every: 24h",
    "every: 015s",
    "cron: '0 3 * * *'",
    "cron: '*/30 * * * * *'",
    "timeout: 10ms",
    "timeout: 60s",
    "timeout: 1m",
    "timeout: 60000ms",
    "degraded_above: 1ms",
    "confirm: 10",
    "connection: reuse",
    "path: /a?b=c",
    "proxy: none",
    "proxy: env",
    "proxy: http://proxy.example.test:3128",
    "base_url: HTTP://a.example.test/x@y?z=1",
    "objective: { availability: 99.999%, latency: 250ms }",
    "expect: { status: [204, 599], max_body: 8MiB }",
    "expect: { max_body: 1B }",
    "expect: { max_body: 8192KiB }",
    "expect: { body: [{ path: /data/0/id, type: integer }, { path: '', exists: true }, { path: /a~1b }] }",
    "expect: { body: [{ path: /credits, min: -1.5, max: 1e6 }, { path: /data, min_items: 1 }] }",
    "expect: { body: [{ path: /credits, min: 5, max: 5 }, { path: /data, min_items: 0, max_items: 0 }] }",
    "expect: { body: [{ path: /status, equals: '' }, { path: /a, equals: false }, { path: /b, one_of: [1, x] }] }",
    `expect: { body: [{ path: /data, json_schema: ${CONTRACT} }] }`,
    "expect: { headers: [{ name: X-Version, one_of: ['2', '3'] }, { name: content-type, contains: JSON }] }",
    "expect: { json: false, headers: [{ name: X-Debug, exists: false }] }",
    "method: OPTIONS",
    "labels: { team: growth }",
    "links: { status_page: 'https://status.example.test/#api', support: 'HTTP://a.example.test' }",
    "sla: { at_least: 99.9% }",
    "sla: { at_least: 99.95%, bad_unit: { failures: 5 }, credits: [{ below: 100%, credit: 0.5% }], claim_within: 1d, time_zone: Europe/Berlin }",
    "tls: { server_name: other.example.test }",
  ],
  budget: [
    "share: 100%",
    "share: 100.0%",
    "share: 20%",
    "share: 99.5%",
    "linger: 0s",
    "linger: 1h",
    "max_pause: 1s",
    "max_pause: 24h",
    "blind_after: 1m",
    "blind_after: 24h",
    "yield_below: 0%",
    "yield_below: 99%",
  ],
  rate: ["per: 1h", "per: 60m", "per: 3600s", "requests: 1000000"],
  quota: ["per: 1h", "per: 366d", "per: 8784h", "on_exhaust: stop"],
  fleet: ["ttl: 1s", "ttl: 10m", "ttl: 600000ms", "name: a"],
  redis: [
    "url: redis://127.0.0.1",
    "url: rediss://redis.example.test:6380/15",
    "key: mine",
    "sentinel: { master: main, nodes: ['10.0.0.1:26379'] }",
  ],
  web: [
    "listen: ':10429'",
    "listen: '[::]:0'",
    "listen: localhost:65535",
    "allowed_hosts: ['*']",
    "badges: true",
  ],
};

const REFUSED: Readonly<Record<Place, readonly string[]>> = {
  upstream: [
    "every: 1500ms",
    "sla: {}",
    "sla: { at_least: 100% }",
    "sla: { at_least: 99%, bad_unit: { failures: 6 } }",
    "sla: { at_least: 99%, bad_unit: failures }",
    "every: 25h",
    "every: 25h",
    "every: 2d",
    "every: 0s",
    "every: 1.5m",
    "every: 15",
    "cron: '* *'",
    "timeout: 5m",
    "timeout: 61s",
    "timeout: 9ms",
    "timeout: 2m",
    "timeout: 60001ms",
    "timeout: 1h",
    "degraded_above: 0s",
    "confirm: 11",
    "connection: keep",
    "path: v1",
    "path: '/a b'",
    "path: '/a#b'",
    "proxy: socks5://p.example.test",
    "base_url: ftp://a.example.test",
    "base_url: 'https://'",
    "base_url: https://user@a.example.test",
    "base_url: https://a.example.test/#x",
    "objective: { availability: 100% }",
    "objective: { availability: 0% }",
    "objective: { latency: 61s }",
    "expect: { status: [429] }",
    "expect: { status: [402] }",
    "expect: { status: [199] }",
    "expect: { status: [] }",
    "expect: { max_body: 65MiB }",
    "expect: { max_body: 0B }",
    "expect: { max_body: 67108865B }",
    "expect: { body: [{ path: data }] }",
    "expect: { body: [{ path: /a~2 }] }",
    "expect: { body: [{ type: string }] }",
    "expect: { body: [{ path: /data, type: text }] }",
    "expect: { body: [{ path: /data, type: array, min_items: 1 }] }",
    "expect: { body: [{ path: /data, min: 1, max_items: 1 }] }",
    "expect: { body: [{ path: /data, json_schema: '' }] }",
    "expect: { body: [{ path: /data, json_schema: a.json, type: array }] }",
    "expect: { body: [{ path: /data, min_items: -1 }] }",
    "expect: { body: [{ path: /data, one_of: [] }] }",
    "expect: { body: [{ path: /data, equals: {} }] }",
    "expect: { body: [{ path: /data, pattern: a }] }",
    "expect: { json: false, body: [{ path: /data }] }",
    "expect: { headers: [{ name: 'x y' }] }",
    "expect: { headers: [{ name: X-Version, equals: 2 }] }",
    "expect: { headers: [{ name: X-Version, equals: '2', contains: '2' }] }",
    "labels: { upstream: x }",
    "labels: { link_support: x }",
    "links: { support: 'javascript:alert(1)' }",
    "links: { support: 5 }",
    "links: { 'a b': 'https://a.example.test' }",
    "labels: { __x: y }",
    "tls: { cert_file: a.pem }",
    "tls: { key_file: a.pem }",
    "auth: {}",
    "auth: { bearer: {} }",
    "auth: { bearer: { env: A, file: b } }",
    "method: post",
    "body: { json: 1, text: a }",
    "body: {}",
    "body: { form: { a: 5 } }",
    "auth: { basic: { user: a } }",
    "auth: { basic: { user: 'a:b', password: { env: A } } }",
    "auth: { header: { name: X-Key, prefix: ' a', env: A } }",
    "auth: { aws: { service: ses, region: eu } }",
  ],
  budget: [
    "share: 120%",
    "share: 0%",
    "share: 0.0%",
    "share: 100.1%",
    "share: 20",
    "share: 1e1%",
    "linger: 61m",
    "linger: 3601s",
    "max_pause: 999ms",
    "blind_after: 59s",
    "max_pause: 25h",
    "max_pause: 2d",
    "price: { per_request: 1 }",
    "price: { currency: EUR }",
    "price: { per_request: -1, currency: EUR }",
    "price: { per_request: 1, currency: euro }",
    "price: { per_request: 1, at_most: 1, currency: EUR }",
    "price: { of: /a, is: 1, at_most: 1, currency: EUR }",
    "price: { of: /a, per: 1, is: 1, currency: EUR }",
    "price: { of: /a, per: 0, is: 1, at_most: 1, currency: EUR }",
    "price: { of: a, per: 1, is: 1, at_most: 1, currency: EUR }",
    "price: []",
    "spend: { at_most: 0, per: 30d }",
    "spend: { at_most: 1, per: 30m }",
    "yield_below: 100%",
  ],
  rate: [
    "per: 2h",
    "per: 61m",
    "per: 3601s",
    "per: 9ms",
    "per: 1d",
    "per: 0s",
    "requests: 0",
    "requests: 1.5",
  ],
  quota: ["per: 59m", "per: 367d", "per: 8785h", "on_exhaust: go"],
  fleet: ["ttl: 999ms", "ttl: 11m", "ttl: 601s", "ttl: 0s", "mode: shard", "advertise: x"],
  redis: [
    "{}",
    "url: http://127.0.0.1",
    "url: redis://u:p@127.0.0.1",
    "url: redis://127.0.0.1/x",
    "sentinel: { master: main, nodes: [] }",
    "sentinel: { master: main, nodes: ['10.0.0.1'] }",
    "sentinel: { master: main, nodes: ['10.0.0.1:0'] }",
    "sentinel: { master: main, nodes: ['10.0.0.1:65536'] }",
    "cert_file: a.pem",
  ],
  web: ["listen: 127.0.0.1", "listen: 127.0.0.1:65536", "listen: 'a b:1'", "allowed_hosts: ['a:1']"],
};

function cases(table: Readonly<Record<Place, readonly string[]>>): readonly (readonly [Place, string])[] {
  return (["upstream", "budget", "rate", "quota", "fleet", "redis", "web"] as const).flatMap((place) =>
    table[place].map((line) => [place, line] as const),
  );
}

test.each(cases(ACCEPTED))("in %s, %s is accepted by the schema and by the check", async (place, line) => {
  const text = configWith(place, line);
  isValid(parse(text));
  expect(isValid.errors ?? []).toEqual([]);
  const loading = await loadText(text);
  expect(loading.kind === "refused" ? loading.faults : []).toEqual([]);
});

test.each(cases(REFUSED))("in %s, %s is refused by the schema and by the check", async (place, line) => {
  const text = configWith(place, line);
  expect((await loadText(text, {}, "structure")).kind).toBe("refused");
  expect(isValid(parse(text))).toBe(false);
});

const FULL = "base_url: https://api.example.test, auth: { none: true }, budget: api";
const BUDGETS = "budgets: { api: { rate: { requests: 6000, per: 1m } } }";

test.each([
  [true, `defaults: { ${FULL}, every: 15s }`, "{ name: a }"],
  [true, `defaults: { ${FULL} }`, "{ name: a, every: 15s }"],
  [true, `defaults: { ${FULL}, every: 15s }`, "{ name: a, cron: '0 * * * *' }"],
  [true, "defaults: {}", `{ name: a, ${FULL}, every: 15s }`],
  [true, "defaults: { every: 15s, confirm: 0 }", `{ name: a, ${FULL} }`],
  [false, `defaults: { ${FULL} }`, "{ name: a }"],
  [false, `defaults: { ${FULL}, every: 15s }`, "{}"],
  [false, `defaults: { ${FULL}, every: 15s, cron: '0 * * * *' }`, "{ name: a }"],
  [false, "defaults: { every: 15s, budget: api }", "{ name: a, base_url: https://api.example.test }"],
  [false, `defaults: { ${FULL}, every: 1500ms }`, "{ name: a, every: 15s }"],
  [false, `defaults: { ${FULL}, every: 15s, name: b }`, "{ name: a }"],
  [
    false,
    `defaults: { ${FULL}, every: 15s, auth: { none: true, query: { name: q, env: Q } } }`,
    "{ name: a }",
  ],
  [false, "defaults: [every]", `{ name: a, ${FULL}, every: 15s }`],
  [false, "", `{ name: a, ${FULL} }`],
])("schema and check agree: %s of %s for %s", async (isGood, defaults, upstream) => {
  const text = `${BUDGETS}\n${defaults}\nupstreams: [${upstream}]\n`;
  expect((await loadText(text, {}, "structure")).kind).toBe(isGood ? "loaded" : "refused");
  expect(isValid(parse(text, { uniqueKeys: false }))).toBe(isGood);
});
