import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { explain, type ExplainCommand } from "../../src/commands/explain.ts";
import { ConfigDirectory, withUpstream } from "../config/config-file.ts";
import { load } from "../../src/app/features/sections.ts";

const NOW_MS = Date.UTC(2026, 10, 20, 12, 0, 0);

type Printed = { readonly code: number; readonly out: string; readonly err: string };

async function explained(
  answer: string | Uint8Array,
  changes: Partial<ExplainCommand> = {},
): Promise<Printed> {
  let [out, err] = ["", ""];
  const code = await explain({
    file: "-",
    upstream: undefined,
    json: false,
    load,
    configPath: "none.yaml",
    environment: {},
    standardInput: async () => Buffer.from(answer),
    wallNowMs: NOW_MS,
    out: (text) => (out += text),
    err: (text) => (err += text),
    ...changes,
  });
  return { code, out, err };
}

const CREDIT =
  'HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n\r\n{"errors":[{"message":"Maximum credits exceeded"}]}';

test("a saved answer is explained: outcome, pause, limits, and by which words", async () => {
  expect(await explained(CREDIT)).toEqual({
    code: 0,
    err: "",
    out: [
      "outcome    throttled: quota",
      'because    answered 401: credit used up, by "errors[0].message"',
      'words      "credits exceeded"',
      "pause      5 min (at most max_pause) for all upstreams of the budget: credit is used up, and it does not say until when",
      "limits     none told",
      "",
    ].join("\n"),
  });
});

test("times are read against the answer's own Date, and what makes no sense is told", async () => {
  const { out } = await explained(
    "HTTP/2 429\ndate: Thu, 28 May 2026 20:26:40 GMT\nretry-after: Thu, 28 May 2026 20:27:40 GMT\nretry-after-ms: never\nx-ratelimit-limit-minute: 60\nx-ratelimit-remaining-minute: 0\n\n",
  );
  expect(out).toContain("pause      1 min (at most max_pause)");
  expect(out).toContain("limits     60 per 1 min, 0 left");
  expect(out).toContain("malformed  1 of its signals");
});

test("of several answers in one file the last counts, and a compressed body is read", async () => {
  const body = gzipSync('{"name":"invalid_api_key"}');
  const head =
    "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 403 Forbidden\r\nContent-Encoding: gzip\r\n\r\n";
  const { out } = await explained(Buffer.concat([Buffer.from(head), body]));
  expect(out).toContain("outcome    rejected: unauthorized");
  const { out: same } = await explained(`${head}{"name":"invalid_api_key"}`);
  expect(same).toBe(out);
});

test("with --json the same is told as one object", async () => {
  const { out } = await explained(CREDIT, { json: true });
  expect(JSON.parse(out)).toMatchObject({
    status: 401,
    outcome: "throttled",
    reason: "quota",
    words: "credits exceeded",
    pause: { scope: "budget", forMs: 300_000, source: "credit_spent" },
    malformed: 0,
  });
});

test("hostile words are printed on one safe line", async () => {
  const { out } = await explained(
    'HTTP/1.1 403 No\r\n\r\n{"message":"Too\\u001b[31m many\\nrequests: Too many requests"}',
  );
  // oxlint-disable-next-line eslint/no-control-regex
  expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
});

test("it judges by the expectations of an upstream where one is named", async () => {
  await using directory = await ConfigDirectory.create();
  const configPath = await directory.write(
    withUpstream("expect: { refusals: [{ text: maximum, means: blocked }] }"),
  );
  const { out } = await explained(CREDIT, { configPath, upstream: "api" });
  expect(out).toContain(
    'because    answered 401: a firewall or bot protection blocked us, by "expect.refusals"',
  );
  expect(await explained(CREDIT, { configPath, upstream: "other" })).toEqual({
    code: 1,
    out: "",
    err: 'cannot explain: "--upstream" must be one of api, received other\n',
  });
});

test("where the upstream draws on several budgets, it is told whose limit the refusal is taken for", async () => {
  await using directory = await ConfigDirectory.create();
  const configPath = await directory.write(`
budgets:
  account: { rate: { requests: 600, per: 1m } }
  gpt: { rate: { requests: 60, per: 1m } }
upstreams:
  - { name: gpt, base_url: "https://api.example.com", auth: { none: true }, budget: [gpt, account], every: 1m }
  - { name: models, base_url: "https://api.example.com", auth: { none: true }, budget: account, every: 1m }
`);
  const refused = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 30\r\n";
  const specific = await explained(`${refused}\r\n`, { configPath, upstream: "gpt" });
  expect(specific.out).toContain("whose      the limit of budget gpt: the fewest upstreams draw on it\n");
  const whole = await explained(`${refused}X-RateLimit-Scope: global\r\n\r\n`, {
    configPath,
    upstream: "gpt",
  });
  expect(whole.out).toContain(
    "whose      the limit of budget account: the answer speaks of the whole account\n",
  );
});

test("what is no answer is refused", async () => {
  expect(await explained("<html>")).toMatchObject({
    code: 1,
    err: 'cannot explain: standard input must begin with a status line such as "HTTP/1.1 429", as "curl -i" prints it\n',
  });
  expect(await explained("", { file: "/nowhere/answer.txt" })).toMatchObject({
    code: 1,
    err: "cannot explain: /nowhere/answer.txt must be a readable file: there is no such file\n",
  });
});

test("an answer is held to the JSON Schema that the config names", async () => {
  await using directory = await ConfigDirectory.create();
  const configPath = await directory.write(
    withUpstream("expect: { body: [{ path: /data, json_schema: contract.json }] }"),
  );
  const answer = 'HTTP/1.1 200 OK\r\n\r\n{"data":[1,"a"]}';
  const ask = (): Promise<Printed> => explained(answer, { configPath, upstream: "api" });
  expect((await ask()).out).toContain('"/data" could not be checked: ');
  await directory.write('{ "items": { "type": "integer" } }', "contract.json");
  expect((await ask()).out).toContain('answered 200, but "/data/1" is "a", expected a whole number');
});

test("a saved stream is judged as if all of it had come at once", async () => {
  await using directory = await ConfigDirectory.create();
  const configPath = await directory.write(
    withUpstream('stream: { format: sse, ends: { data: "[DONE]" }, counts: { path: /delta } }'),
  );
  const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
  const ask = async (body: string): Promise<string> => {
    const { out } = await explained(head + body, { configPath, upstream: "api" });
    return out.split("\n").slice(0, 2).join("; ");
  };
  const token = 'data: {"delta":"ok"}\n\n';
  expect(await ask(`${token}${token}data: [DONE]\n\n`)).toBe(
    "outcome    ok; because    answered 200 with 2 events in 58 B",
  );
  expect(await ask(token)).toContain("outcome    failed: stream");
});
