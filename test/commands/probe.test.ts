import { quotasKept } from "../support/kept-quotas.ts";
import { opened } from "../support/opened.ts";
import { createServer } from "node:http";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../src/platform/clock.ts";
import { openStateStore } from "../../src/features/state/store.ts";
import { heldNote, NOTHING_HELD } from "../../src/features/hints/record.ts";
import { PAUSES } from "../../src/features/hints/pauses.ts";
import type { StateStore } from "../../src/features/history/state.ts";
import { probe, type ProbeCommand } from "../../src/commands/probe.ts";
import { readAnswerHints } from "../../src/features/hints/fields/answer-hints.ts";
import { startSimulatedUpstream, type SimulatedUpstream } from "../../src/simulator/upstream.ts";
import { load } from "../../src/app/features/sections.ts";

let folder: string;
let upstream: SimulatedUpstream;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pacewatch-probe-"));
  upstream = await startSimulatedUpstream({
    name: "email",
    key: "test-key-probe",
  });
});

afterAll(async () => {
  await upstream.close();
  await rm(folder, { recursive: true });
});

async function probing(
  changes: {
    url?: string;
    rate?: string;
    share?: string;
    timeout?: string;
    proxy?: string;
    key?: string;
  } & Partial<ProbeCommand>,
): Promise<{ code: number; out: string; err: string }> {
  const configPath = join(folder, "pacewatch.yaml");
  await writeFile(
    configPath,
    `
budgets:
  email:
    rate: ${changes.rate ?? "{ requests: 100, per: 1s }"}
    share: ${changes.share ?? "50%"}
upstreams:
  - name: email
    base_url: ${changes.url ?? upstream.url}
    auth: { bearer: { env: EMAIL_KEY } }
    budget: email
    every: 1m
    timeout: ${changes.timeout ?? "700ms"}
    proxy: ${changes.proxy ?? "none"}
`,
  );
  let out = "";
  let err = "";
  const code = await probe({
    load,
    configPath,
    json: false,
    names: [],
    force: false,
    environment: { EMAIL_KEY: changes.key ?? "test-key-probe" },
    ...changes,
    out: (text) => void (out += text),
    err: (text) => void (err += text),
  });
  return { code, out, err };
}

test("an upstream that answers is shown with its phases, and the exit code is 0", async () => {
  const { code, out, err } = await probing({});
  expect(out).toMatch(/^email {2}ok(?:, slow)? {2}status 200 {2}in [\d.]+ m?s\n/);
  expect(out).toMatch(/ {2}wait +[\d.]+ m?s +[█▏▎▍▌▋▊▉]/);
  expect(err).toBe("");
  expect(code).toBe(0);
});

test("one that refuses our key is no ok, and the exit code is 1", async () => {
  const { code, out } = await probing({ key: "test-key-wrong" });
  expect(out).toContain("email  rejected: unauthorized  status 401");
  expect(out).not.toContain("test-key-wrong");
  expect(code).toBe(1);
});

test("--json has the same facts", async () => {
  const { out } = await probing({ json: true });
  expect(JSON.parse(out)).toMatchObject([{ upstream: "email", outcome: "ok", reason: "", status: 200 }]);
});

test("over half of a limit is refused without --force, as a daemon may be using it", async () => {
  const refused = await probing({ share: "51%" });
  expect(refused.err).toContain('budget "email" gives 51% of its limit to one process');
  expect(refused.code).toBe(1);
  const before = upstream.requests;
  const forced = await probing({ share: "51%", force: true });
  expect(forced.code).toBe(0);
  expect(upstream.requests).toBe(before + 1);
});

test("a name that is not in the config is told with those that are", async () => {
  const { code, err } = await probing({ names: ["emial"] });
  expect(err).toBe('cannot probe: "NAME" must be one of email, received emial\n');
  expect(code).toBe(1);
});

test("a wait for the budget is told, so that nobody takes it for a hang", async () => {
  const { err } = await probing({ share: "50%", timeout: "1200ms" });
  expect(err).toMatch(/^email: waiting 2\.\d+ s for its budget/);
});

test("says what limit the provider advertised, and how that compares with the config", async () => {
  await using server = await answering({
    "ratelimit-policy": "5;w=1",
    "ratelimit-limit": "5",
    "ratelimit-remaining": "4",
    "ratelimit-reset": "1",
    "x-ratelimit-limit-tokens": "150000",
    "x-ratelimit-limit-requests": "60",
  });
  const { out } = await probing({ url: server.url, rate: "{ requests: 1000, per: 1m }" });
  expect(out).toContain(
    "limit    5 requests per 1s: you configured 1000/1m, it says 5 per 1s: add a second rate, { requests: 5, per: 1s }",
  );
  expect(out).toContain("150000 tokens (window not told): it counts tokens, not requests: it lowers nothing");
  expect(out).toContain(
    "60 requests (window not told): shown, and lowers nothing until its window is learned",
  );
});

async function answering(
  headers: Readonly<Record<string, string>>,
): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((_, response) => response.writeHead(200, headers).end("{}"));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** The state file that a daemon leaves behind: it has never polled. */
async function openState(): Promise<StateStore> {
  return opened(await openStateStore({ path: join(folder, "state.db"), log: QUIET, clock: systemClock }));
}

test("counts against a quota and a spend in the state file, and sends nothing that they do not allow", async () => {
  const paid = {
    share:
      "50%\n    price: { per_request: 0.002, currency: EUR }\n    spend: { at_most: 0.003, per: 30d, on_exhaust: stop }\n    quota: { requests: 5, per: 30d, on_exhaust: stop }\nstate: { path: state.db }",
  };
  await (await openState()).close();
  const before = upstream.requests;
  const first = await probing(paid);
  expect([first.code, first.err]).toEqual([0, ""]);
  expect(first.out).toContain("cost     0.002 EUR");
  const second = await probing(paid);
  expect([second.code, second.out]).toEqual([1, ""]);
  expect(second.err).toContain('email: not polled, as budget "email" has too little left to use');
  expect(upstream.requests).toBe(before + 1);
  const store = await openState();
  expect(quotasKept(store).rows).toMatchObject([
    { budget: "email", of: "money", requests: 2_000_000, unconfirmed: 0 },
    { budget: "email", of: "requests", requests: 1, unconfirmed: 0 },
  ]);
  const beside = await probing(paid);
  await store.close();
  expect(beside.code).toBe(0);
  expect(beside.err).toContain("locked by another program: quotas and spends do not count this");
});

test("where an upstream cannot be opened, each fault is told and nothing is asked", async () => {
  const before = upstream.requests;
  const environment = { EMAIL_KEY: "test-key-probe", http_proxy: "socks5://proxy.test" };
  const { code, out, err } = await probing({ proxy: "env", environment });
  expect([code, out]).toEqual([1, ""]);
  expect(err).toMatch(/^[^\n]*"http_proxy" must be an http or https URL\n$/);
  expect(upstream.requests).toBe(before);
});

test("a limit whose window the daemon has learned is told with it, from the state file", async () => {
  await using server = await answering({ "ratelimit-limit": "60" });
  const head = { status: 200, reasonPhrase: "", headers: [["ratelimit-limit", "60"]] } as const;
  const [family] = readAnswerHints(head, 0, (text) => text).hints.families;
  const learned = { key: `${family?.key} `, limit: 60, perMs: 60_000, from: "resets" } as const;
  const store = await openState();
  const record = { ...NOTHING_HELD, windows: [learned] };
  void store.write([heldNote("email", record)]);
  await store.close();
  const { out } = await probing({ url: server.url, share: "50%\nstate: { path: state.db }" });
  expect(out).toContain("60 requests per 1m");
});

test("into a pause that the state file knows nothing is sent without --force, and it is told until when", async () => {
  const untilMs = Date.now() + 600_000;
  const store = await openState();
  void store.write([heldNote("former", { ...NOTHING_HELD, pausedUntilMs: untilMs, upstreams: ["email"] })]);
  await store.close();
  const share = "50%\n    max_pause: 1h\nstate: { path: state.db }";
  const before = upstream.requests;
  const { code, out, err } = await probing({ share });
  expect([code, out, upstream.requests]).toEqual([1, "", before]);
  const [, until = ""] =
    /^cannot probe: upstream "email" asked for a pause until (\S+): before that it needs --force\n$/.exec(
      err,
    ) ?? [];
  expect(Math.abs(Date.parse(until) - untilMs)).toBeLessThan(1_000);
  expect(await probing({ share, force: true })).toMatchObject({ code: 0, err: "" });
  const other = await openState();
  void other.write([heldNote("former", NOTHING_HELD)]);
  void other.write([{ kind: PAUSES.name, key: "email", json: untilMs }]);
  await other.close();
  const alone = await probing({ share });
  expect([alone.code, alone.err]).toMatchObject([1, expect.stringContaining("asked for a pause until")]);
});
