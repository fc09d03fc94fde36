import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { load } from "../../src/app/features/sections.ts";
import { check } from "../../src/commands/check.ts";
import { explain } from "../../src/commands/explain.ts";
import { probe } from "../../src/commands/probe.ts";
import { isList, isObject } from "../../src/kernel/text/json.ts";
import { ConfigDirectory } from "../config/config-file.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/command-line.md"), "utf8");

/** `budgets[].rates[].cap`, for each field that the page has of a command. */
function documented(command: string): readonly string[] {
  const table = PAGE.split(`\n### \`${command} --json\`\n`)[1]?.split(/^#/m)[0] ?? "";
  const cells = [...table.matchAll(/^\| (`.+?) +\| .+\|$/gm)].map(([, cell = ""]) => cell);
  return cells.flatMap((cell) =>
    cell.split("; ").flatMap((part) => {
      const [above = [], below = []] = part
        .split(" with ")
        .map((names) => [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
      return below.length === 0 ? above : above.flatMap((name) => below.map((key) => `${name}${key}`));
    }),
  );
}

/** The same of what a command has printed. The config, or what happened, chooses the names in some mappings. */
function printed(value: unknown, at = ""): readonly string[] {
  if (isList(value)) return value.flatMap((item) => printed(item, at === "" ? "" : `${at}[]`));
  if (!isObject(value)) return [at];
  const chosen: Readonly<Record<string, string>> = { phasesMs: "PHASE", learned: "BUDGET" };
  return Object.entries(value).flatMap(([key, below]) => {
    const name = chosen[at] ?? key;
    return printed(below, at === "" ? name : `${at}.${name}`);
  });
}

/** These take a certificate, and a daemon that has learned. A spend has a currency, and no quota of requests. */
const NOT_TRIED = new Set(["certificateExpiresAtMs", "learned.BUDGET[]", "budgets[].quota.currency"]);

type Differences = { readonly undocumented: readonly string[]; readonly notPrinted: readonly string[] };
const NONE: Differences = { undocumented: [], notPrinted: [] };

function differencesOf(command: string, outputs: readonly string[]): Differences {
  const found = new Set(outputs.flatMap((output) => printed(JSON.parse(output))));
  const fields = documented(command);
  return {
    undocumented: [...found].filter((field) => !fields.includes(field)),
    notPrinted: fields.filter((field) => !found.has(field) && !NOT_TRIED.has(field)),
  };
}

const COMMON = { load, json: true, environment: { KEY: "test-key-of-json" }, err: () => {} };

async function outputOf(run: (out: (text: string) => void) => Promise<unknown>): Promise<string> {
  let output = "";
  await run((text) => (output += text));
  return output;
}

const FITS = `
vantage: { name: eu, of: 2 }
budgets:
  api: { rate: { requests: 60, per: 1m }, quota: { requests: 400000, per: 30d, on_exhaust: stop } }
  paid: { rate: { requests: 60, per: 1m }, spend: { at_most: 5, per: 30d, on_exhaust: stop } }
  turns: { rate: { requests: 20, per: 2s } }
defaults: { base_url: https://api.example.test, auth: { none: true } }
upstreams:
  - { name: api, budget: api, every: 30s, tls: { insecure_skip_verify: true } }
  - { name: paid, budget: paid, every: 10m, method: POST, price: { per_request: 0.01, currency: EUR } }
  - { name: first, budget: turns, every: 10s }
  - { name: second, budget: turns, every: 10s }
`;

test("check prints the fields that its page has", async () => {
  await using folder = await ConfigDirectory.create();
  const literalKey = "  - { name: third, budget: turns, every: 10s, path: '/${TOKEN:-test-key-0123}' }\n";
  const configs = [FITS, FITS + literalKey];
  const outputs = await Promise.all(
    configs.map(async (text, index) => {
      const configPath = await folder.write(text, `${index}.yaml`);
      return await outputOf((out) => check({ ...COMMON, configPath, secrets: true, out }));
    }),
  );
  expect(differencesOf("check", outputs)).toEqual(NONE);
});

const POLLED = (url: string): string => `
budgets:
  api: { rate: { requests: 1000, per: 100ms } }
defaults: { base_url: "${url}", auth: { bearer: { env: KEY } }, proxy: none, budget: api, every: 1m, timeout: 1500ms }
upstreams:
  - name: api
    values: [{ name: left, path: /left }, { name: lost, path: /text }]
    price: { per_request: 0.01, currency: EUR }
  - { name: stream, path: /stream, stream: { format: sse } }
`;

test("probe prints the fields that its page has", async () => {
  const server = createServer(({ url }, answer) => {
    const isStream = url === "/stream";
    answer.setHeader("Content-Type", isStream ? "text/event-stream" : "application/json");
    answer.setHeader("X-RateLimit-Limit", "60");
    answer.end(isStream ? "data: 1\n\ndata: 2\n\n" : '{ "left": 5, "text": "none" }');
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  await using folder = await ConfigDirectory.create();
  const configPath = await folder.write(POLLED(`http://127.0.0.1:${port}`));
  const output = await outputOf((out) => probe({ ...COMMON, configPath, names: [], force: false, out }));
  server.close();
  expect(differencesOf("probe", [output])).toEqual(NONE);
});

const DRAWING = `
budgets:
  model: { rate: { requests: 60, per: 1m } }
  account: { rate: { requests: 600, per: 1m } }
upstreams:
  - name: api
    base_url: https://api.example.test
    auth: { none: true }
    budget: [model, account]
    every: 1m
    values: [{ name: left, path: /left }, { name: lost, path: /text }]
`;

const SAVED = [
  'HTTP/1.1 200 \r\n\r\n{ "left": 5, "text": "none" }',
  'HTTP/1.1 429 \r\nRetry-After: 60\r\nX-RateLimit-Limit-Minute: 60\r\nX-RateLimit-Remaining-Minute: 0\r\nX-RateLimit-Reset-Minute: 30\r\n\r\n{ "error": "slow down" }',
];

test("explain prints the fields that its page has", async () => {
  await using folder = await ConfigDirectory.create();
  const configPath = await folder.write(DRAWING);
  const asked = { file: "-", upstream: "api", wallNowMs: Date.UTC(2026, 10, 20) };
  const outputs = await Promise.all(
    SAVED.map(async (answer) => {
      const standardInput = async (): Promise<Buffer> => Buffer.from(answer);
      return await outputOf((out) => explain({ ...COMMON, ...asked, configPath, standardInput, out }));
    }),
  );
  expect(differencesOf("explain", outputs)).toEqual(NONE);
});
