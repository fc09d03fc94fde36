import { mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { formatFault } from "../../src/config/read/fault.ts";
import { load } from "../../src/app/features/sections.ts";
import type { Loading } from "../../src/config/load.ts";
import { bytesOf, mutated, pieces } from "./mutate.ts";
import { promise, type Session, type Target, UNPRINTABLE, within } from "./target.ts";

const CANARY = "test-key-canary-4711";
const ENVIRONMENT = {
  EMAIL_API_BASE_URL: "https://email.test/v1",
  AI_ROUTER_BASE_URL: "https://router.test",
  EMAIL_API_KEY: CANARY,
  AI_ROUTER_API_KEY: CANARY,
  TEST_KEY: CANARY,
};
const MOST_MS = 5_000;
const FIXTURES = join(import.meta.dirname, "../fixtures/config");

const EVERYTHING = `
web: { listen: 127.0.0.1:10429, config_file: web.yaml, enable_lifecycle: true }
log: { level: trace }
state: { path: data/pacewatch.db }
budgets:
  api: &api
    rate: [{ requests: 60, per: 1m }, { requests: 1000, per: 1h }]
    share: 50%
    linger: 1s
    max_pause: 10m
    yield_below: 10%
    quota: { requests: 400000, per: 30d, on_exhaust: stop }
    spend: { at_most: 5, per: 30d, on_exhaust: stop }
    price: [{ per_request: 0.0001, currency: EUR }, { of: /usage, per: 1000, is: 0.6, at_most: 0.002, currency: EUR }]
  other: *api
upstreams:
  - name: one
    base_url: \${EMAIL_API_BASE_URL:-https://default.test/a}
    path: /v1/resources?x=1
    auth: { query: { name: key, env: EMAIL_API_KEY } }
    headers: { X-Team: "growth" }
    budget: api
    cron: "*/15 0-30/2,45 * * * *"
    timeout: 2500ms
    confirm: 2
    expect: { status: [200, 204], json: false, max_body: 64KiB }
    degraded_above: 2s
    objective: { availability: 99.95%, latency: 750ms }
    connection: reuse
    proxy: none
    tls: { server_name: other.test, insecure_skip_verify: true }
    labels: { team: growth }
  - { name: two, base_url: "http://[::1]:8080", auth: { none: true }, budget: other, every: 15s, labels: { team: "" } }
`;

const PIECES = [
  ..."{}[]:,-?&*!|>'\"%@`#\n \t".split(""),
  ...pieces("\r\n¦  ¦\n  - ¦---\n¦...\n¦%YAML 1.2\n¦<<: ¦*api¦&a ¦!!binary ¦!!str ¦? "),
  ...pieces("${¦}¦${EMAIL_API_KEY}¦${TEST_KEY:-¦$${¦null¦~¦true¦yes¦.inf¦.nan¦0x1f¦1e999"),
  ...pieces("-1¦0¦9007199254740993¦60s¦1m¦7s¦30d¦1000000h¦0%¦100%¦1e400%¦1GiB¦200¦429"),
  ...pieces("upstreams¦budgets¦name: ¦auth: ¦every: ¦cron: ¦* * * * * *¦*/7 * * * *"),
  ...pieces("0 0 29 2 *"),
  ...pieces("__proto__: ¦constructor: ¦toString¦http://user:pass@¦https://¦file:///etc/passwd"),
  ...pieces("../¦#a"),
  ...pieces("\u0000¦\u00ef\u00bb\u00bf¦\u00ff\u00fe¦\u00e2\u0080\u00ae¦\u0085¦\u001b[2J"),
  "[".repeat(300),
  "{a: ".repeat(300),
];

const SHIPPED = readFileSync(join(import.meta.dirname, "../../config/pacewatch.yaml"), "latin1");
const CORPUS = [
  SHIPPED,
  EVERYTHING,
  ...readdirSync(FIXTURES)
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => readFileSync(join(FIXTURES, name), "latin1")),
];

function judge(loading: Loading): void {
  const faults = loading.kind === "refused" ? loading.faults : loading.warnings;
  promise(loading.kind === "loaded" || faults.length > 0, "refused without a fault");
  const said = faults.map(formatFault);
  for (const line of said) promise(!UNPRINTABLE.test(line), `a fault is not one printable line: ${line}`);
  for (const { line, column, message } of faults) {
    promise(line >= 1 && column >= 1, `a fault is nowhere: ${line}:${column}`);
    promise(message !== "", "a fault says nothing");
  }
  const shown = loading.kind === "loaded" ? loading.shown : "";
  promise(!(said.join("\n") + shown).includes(CANARY), "a key was shown");
}

async function open(): Promise<Session<string>> {
  const folder = mkdtempSync(join(tmpdir(), "pacewatch-fuzz-"));
  const path = join(folder, "pacewatch.yaml");
  return {
    check: async (text) => {
      await writeFile(path, bytesOf(text));
      for (const resolve of ["everything", "structure"] as const) {
        judge(await within(MOST_MS, `loading ${resolve}`, load(path, { environment: ENVIRONMENT, resolve })));
      }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

export const configTarget: Target<string> = {
  name: "config",
  cases: mutated(CORPUS, PIECES),
  kept: [
    ["a key that runs backwards", "\u00e2\u0080\u00aeweb: {}\n"],
    ["a file of one NUL", "\u0000"],
  ],
  open,
};
