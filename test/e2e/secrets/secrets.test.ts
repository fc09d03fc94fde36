import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type ConfigFolder,
  openConfigFolder,
  rawUpstream,
  type RawConfig,
} from "../../support/config-folder.ts";
import { type Daemon, launch, startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { accountsOf } from "../../support/metrics/slot-accounts.ts";
import { WITHHELD } from "../../../src/adapters/secrets/finder.ts";
import { oneLine } from "../../../src/core/text/escape.ts";
import { WRITINGS } from "../../support/written.ts";
import { ECHOES, type EchoUpstream, openEchoUpstream } from "./echo.ts";
import { echoesIn, tracesOf } from "./traces.ts";

/** What is looked for is the core: it looks the same in every alphabet but base64, whatever surrounds it. */
type Canary = { readonly core: string; readonly key: string };

const SIGNS = String.raw`+/=&%"'<>\ ;`;

function canary(core: string, before = "test-key-", after = ""): Canary {
  return { core, key: `${before}${core}${after}` };
}

const CANARIES = {
  bearer: canary("core-of-bearer-1f0c"),
  header: canary("core-of-header-2e1d", `test-key${SIGNS}`, "/+=="),
  query: canary("core-of-query-3d2b", `test-key${SIGNS}`, `${SIGNS}.`),
  file: canary("core-of-file-4c3a"),
  rotated: canary("core-of-rotated-5b4f"),
  afterRotation: canary("core-of-rotation-6a5e", "test/key+"),
  client: canary("core-of-client-9f6b", `test-key${SIGNS}`, "/+=="),
  token: canary("core-of-token-a07c", "test/key+", "=="),
  path: canary("core-of-path-8e5c"),
  proxy: canary("core-of-proxy-7968", "test-password-"),
} as const satisfies Record<string, Canary>;

const CORES = Object.values(CANARIES).map(({ core }) => core);
const KEYS = Object.values(CANARIES).map(({ key }) => key);

const AUTHS: Readonly<Record<string, object>> = {
  bearer: { bearer: { env: "BEARER_KEY" } },
  header: { header: { name: "X-Api-Key", env: "HEADER_KEY" } },
  query: { query: { name: "api_key", env: "QUERY_KEY" } },
  file: { bearer: { file: "file.key" } },
  rotated: { header: { name: "X-Api-Key", file: "rotated.key" } },
};

/** Throws, as a bug somewhere would, an error that holds keys; and tells what the process had in its environment then. */
const BUG = `
  import { writeFileSync } from "node:fs";
  const words = [process.env.BEARER_KEY, process.env.HTTP_PROXY, encodeURIComponent(process.env.QUERY_KEY)];
  process.on("SIGWINCH", () => {
    writeFileSync(new URL("environment.json", import.meta.url), JSON.stringify(process.env));
    throw Object.assign(new TypeError("Invalid URL: " + words.join(" ")), { input: words });
  });
`;

/** One token for all upstreams; or for each a token endpoint that says its client's secret. */
function authOf(mode: string, echo: string): object {
  const oauth2 = (path: string): object => ({
    oauth2: {
      token_url: `${upstream.url}${path}`,
      client_id: "pacewatch",
      client_secret: { env: "CLIENT_SECRET" },
    },
  });
  if (mode === "token") return oauth2("/token");
  if (mode === "client") return oauth2(`/echo/${echo}`);
  return AUTHS[mode] ?? { none: true };
}

let upstream: EchoUpstream;
let folder: ConfigFolder;
let environment: Readonly<Record<string, string>>;

/** A token is sent as any bearer is; and of a token endpoint's answer, little is kept. */
const SOME_ECHOES: Readonly<Record<string, readonly string[]>> = {
  token: ["in-every-place", "as-an-announcement", "as-advice", "for-a-length"],
  client: [
    "in-every-place",
    "as-advice",
    "as-a-place-to-go",
    "for-a-status-line",
    "for-a-length",
    "for-an-encoding",
    "in-half-an-answer",
    "in-too-large-a-head",
  ],
};

/** Of a key that is sent to the echoes. */
const MODES = [...Object.keys(AUTHS), ...Object.keys(SOME_ECHOES)];

/** The shapes that a key is written in are those of one with every sign in it. */
function echoesOf(mode: string): readonly string[] {
  const some = SOME_ECHOES[mode];
  if (some !== undefined) return some;
  const echoes = Object.keys(ECHOES);
  return mode === "header" ? echoes : echoes.filter((echo) => !echo.startsWith("shape-"));
}

function configOf(): RawConfig {
  const budget = { rate: { requests: 1_000_000, per: "1m" } };
  const names = Object.keys(ECHOES);
  // A 429 silences all of its budget: each key has one of its own for them.
  const silenced = (mode: string): string => `silenced-${mode}`;
  const watched = (name: string, mode: string, echo: string, changes: object = {}) =>
    rawUpstream(name, upstream.url, {
      path: `/echo/${echo}`,
      auth: authOf(mode, echo),
      labels: { mode },
      budget: echo === "as-advice" ? silenced(mode) : "api",
      every: "5s",
      timeout: "1s",
      proxy: "none",
      expect: { max_body: "8KiB" },
      ...changes,
    });
  return {
    web: { enable_lifecycle: true },
    log: { level: "trace" },
    state: { path: "pacewatch.db" },
    budgets: {
      api: budget,
      ...Object.fromEntries(MODES.map((mode) => [silenced(mode), budget])),
    },
    upstreams: [
      ...MODES.flatMap((mode) =>
        echoesOf(mode).map((echo) => watched(`${mode}-${names.indexOf(echo)}`, mode, echo)),
      ),
      watched("changing", "rotated", "in-every-place", { every: "1s" }),
      watched("path-0", "path", "in-every-place", { path: "/echo/in-every-place/${PATH_KEY}" }),
      watched("behind-a-proxy", "proxy", "in-every-place", { proxy: "env" }),
    ],
  };
}

beforeAll(async () => {
  upstream = await openEchoUpstream(CANARIES.token.key);
  folder = await openConfigFolder(configOf());
  environment = {
    BEARER_KEY: CANARIES.bearer.key,
    HEADER_KEY: CANARIES.header.key,
    QUERY_KEY: CANARIES.query.key,
    PATH_KEY: CANARIES.path.key,
    CLIENT_SECRET: CANARIES.client.key,
    NOT_A_KEY: "test-canary-of-the-environment",
    HTTP_PROXY: `http://user:${CANARIES.proxy.key}@127.0.0.1:${upstream.port}`,
  };
});

beforeEach(async () => {
  await folder.write(configOf());
  await writeFile(join(folder.folder, "file.key"), `${CANARIES.file.key}\n`);
  await writeFile(join(folder.folder, "rotated.key"), CANARIES.rotated.key);
  await writeFile(join(folder.folder, "bug.mjs"), BUG);
});

afterAll(async () => {
  await upstream.close();
  await folder[Symbol.asyncDispose]();
});

/** Where a key was found, which one, and how it was written there. */
function leaksIn(outputs: ReadonlyMap<string, string>): readonly string[] {
  return [...outputs].flatMap(([place, text]) =>
    [...tracesOf(CORES, text), ...echoesIn(KEYS, text)].map((trace) => `in ${place}: ${trace}`),
  );
}

async function pagesOf(daemon: Daemon): Promise<ReadonlyMap<string, string>> {
  const names = configOf().upstreams.map(({ name }) => name);
  const paths = [
    "/",
    "/metrics",
    "/-/healthy",
    "/-/ready",
    "/-/reload",
    "/nowhere",
    "/api/v1/upstreams",
    "/api/v1/config",
    ...names.map((name) => `/api/v1/upstreams/${name}`),
    ...names.filter((name) => name.endsWith("-0")).map((name) => `/upstreams/${name}`),
  ];
  const pages = new Map<string, string>();
  for (const path of paths) pages.set(path, (await daemon.get(path)).body);
  return pages;
}

/** Every file that it wrote: its database with what belongs to it, and its reports. */
async function filesOf(): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const name of await readdir(folder.folder)) {
    if (name.endsWith(".key") || name.endsWith(".mjs")) continue;
    files.set(name, (await readFile(join(folder.folder, name))).toString("latin1"));
  }
  return files;
}

/** The echoes that were not given each of their keys yet: a poll that ran out of time may not have arrived. */
function missedEchoes(): readonly string[] {
  return Object.entries(CANARIES).flatMap(([mode, { key }]) =>
    !MODES.includes(mode) ? [] : echoesOf(mode).filter((echo) => upstream.keys.get(echo)?.has(key) !== true),
  );
}

/** Until every echo has been given every key, not to find one shows nothing. */
async function pagesOnceEveryKeyArrived(daemon: Daemon): Promise<ReadonlyMap<string, string>> {
  const watched = configOf().upstreams.length;
  const password = Buffer.from(`user:${CANARIES.proxy.key}`).toString("base64");
  const proxied = (): boolean => upstream.keys.get("in-every-place")?.has(password) === true;
  await eventually("the proxy is given its password", proxied);
  await eventually("each echo is given every key", missedEchoes, (missed) => missed.length === 0);
  await eventually(
    "each upstream is polled",
    async () => accountsOf(await daemon.metrics()).filter(({ polls }) => polls > 0).length,
    (polled) => polled === watched,
  );
  return pagesOf(daemon);
}

async function rotate(daemon: Daemon): Promise<void> {
  const sent = upstream.keys.get("in-every-place");
  await writeFile(join(folder.folder, "rotated.key"), CANARIES.afterRotation.key);
  await eventually("the new key is sent", () => sent?.has(CANARIES.afterRotation.key));
  await writeFile(join(folder.folder, "rotated.key"), "");
  await daemon.until(({ stdout }) => stdout.includes("cannot read key, the last one is kept"));
  await writeFile(join(folder.folder, "rotated.key"), CANARIES.afterRotation.key);
}

/** First with a key pasted where its variable's name belongs; then as it should be. */
async function reload(daemon: Daemon): Promise<string> {
  await folder.write(JSON.stringify(configOf()).replace("BEARER_KEY", CANARIES.bearer.key));
  const refusal = await daemon.post("/-/reload");
  expect(refusal.status).toBe(400);
  // The variables are not in the process any more; what was read of them at the start serves all reloads.
  await folder.write({ ...configOf(), log: { level: "debug" } });
  expect((await daemon.post("/-/reload")).status).toBe(200);
  return refusal.body;
}

async function breakIt(daemon: Daemon): Promise<void> {
  daemon.kill("SIGWINCH");
  await daemon.logged("a bug in pacewatch: it keeps running");
  const told = daemon.logs.find(({ msg }) => msg === "a bug in pacewatch: it keeps running");
  expect(told?.["error"]).toMatch(/^<not kept[^\n]+\n +at /);
  daemon.kill("SIGUSR1");
  daemon.kill("SIGUSR2");
  await daemon.until(({ stderr }) => stderr.includes("Node.js report completed"));
  expect(daemon.stderr).not.toContain("Debugger listening");
}

async function processFiles(daemon: Daemon): Promise<ReadonlyMap<string, string>> {
  const names = ["cmdline", "comm", "status"].map((name) => `/proc/${daemon.pid}/${name}`);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(name, "latin1")] as const)),
  );
}

describe("the judge of these tests", () => {
  it.each([
    ["as it is", (key: string) => key],
    ["percent-encoded twice", (key: string) => encodeURIComponent(encodeURIComponent(key))],
    ["in JSON", (key: string) => JSON.stringify(key)],
    ["in entities", (key: string) => key.replaceAll(/[^a-z]/g, (sign) => `&#${sign.charCodeAt(0)};`)],
    ["in base64", (key: string) => Buffer.from(key).toString("base64")],
    ["in base64, behind a word", (key: string) => Buffer.from(`Bearer ${key}`).toString("base64")],
    ["in base64url, behind a user", (key: string) => Buffer.from(`us:${key}`).toString("base64url")],
    ["in base64 in JSON", (key: string) => JSON.stringify({ a: Buffer.from(`{${key}`).toString("base64") })],
  ])("finds a key %s", (_, write) => {
    for (const { core, key } of Object.values(CANARIES)) {
      expect(tracesOf([core], `before ${write(key)} after`)).not.toEqual([]);
      expect(tracesOf([core], "before <secret> after")).toEqual([]);
    }
  });

  it.each(Object.entries(WRITINGS))("finds a key %s, on a page and in an answer of the API", (_, write) => {
    for (const { key } of Object.values(CANARIES)) {
      const excerpt = oneLine(`before ${write(key)} after`, [], 100_000);
      const page = excerpt.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
      for (const place of [excerpt, JSON.stringify({ excerpt }), page]) {
        expect(echoesIn([key], place)).not.toEqual([]);
      }
      expect(echoesIn([key], "before <secret> after")).toEqual([]);
    }
  });
});

describe("no key leaves,", () => {
  it("whatever an upstream says, by any way out of the running daemon", async () => {
    const flags = `--import=${join(folder.folder, "bug.mjs")} --report-on-signal --report-directory=${folder.folder}`;
    await using daemon = await startDaemon({
      configPath: folder.path,
      environment: { ...environment, NODE_OPTIONS: flags },
    });
    const pages = await pagesOnceEveryKeyArrived(daemon);
    // What was taken out left its mark: the pages do tell of these answers.
    expect(pages.get("/api/v1/upstreams/bearer-0")).toContain(WITHHELD);
    expect(pages.get("/api/v1/config")).toContain("/echo/in-every-place/${PATH_KEY}");
    expect(upstream.keys.get("in-every-place")).toContain(CANARIES.path.key);
    const plain = configOf().upstreams.find(({ path }) => path === "/echo/shape-0")?.name;
    expect(pages.get(`/api/v1/upstreams/${plain}`)).toContain("<secret> is not known here");

    await rotate(daemon);
    const refusal = await reload(daemon);
    await breakIt(daemon);
    const ofProcess = await processFiles(daemon);
    const pagesAfter = await pagesOf(daemon);
    daemon.kill("SIGTERM");
    expect(await daemon.exited).toEqual({ code: 0, signal: null });

    const files = await filesOf();
    const written = ["pacewatch.db", "environment.json", expect.stringMatching(/^report\./)];
    expect([...files.keys()]).toEqual(expect.arrayContaining(written));
    const reports = [...files].filter(([name]) => name.startsWith("report."));
    expect(reports.filter(([, text]) => text.includes("test-canary-of-the-environment"))).toEqual([]);
    // No redirect was followed, and nobody else was called.
    expect([...upstream.keys.keys()].filter((echo) => ECHOES[echo] === undefined)).toEqual([]);
    const outputs = new Map([
      ...[...pages].map(([path, text]) => [`${path} before all`, text] as const),
      ...pagesAfter,
      ...ofProcess,
      ...files,
      ["the refusal of a config", refusal],
      ["standard output", daemon.stdout],
      ["standard error", daemon.stderr],
    ]);
    expect(leaksIn(outputs)).toEqual([]);
  });

  it("in what the other commands print", async () => {
    const commands = [["check"], ["check", "--json"], ["probe"], ["probe", "--json"]];
    await Promise.all(
      commands.map(async (command) => {
        const { code, outputs } = await printed(command, environment);
        expect(code).toBe(command[0] === "check" ? 0 : 1);
        expect([...outputs.values()][0]).not.toBe("");
        expect(leaksIn(outputs)).toEqual([]);
      }),
    );
  });

  it("where the config cannot be used because of the key itself", async () => {
    const twisted = {
      ...environment,
      BEARER_KEY: `${CANARIES.bearer.key}\u0001é`,
      QUERY_KEY: " ",
      NODE_DEBUG: "test",
    };
    const commands = [["run"], ["check"], ["check", "--json"], ["probe", "--json"]];
    await Promise.all(
      commands.map(async (command) => {
        const { code, outputs } = await printed(command, twisted);
        expect(code).toBe(1);
        expect([...outputs.values()].join("")).toContain("cannot read key");
        expect([...outputs.values()].join("").includes("NODE_DEBUG is set")).toBe(command[0] === "run");
        expect(leaksIn(outputs)).toEqual([]);
      }),
    );
  });
});

type Printed = { readonly code: number | null; readonly outputs: ReadonlyMap<string, string> };

async function printed(
  command: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<Printed> {
  await using done = launch([...command, "--config", folder.path], variables);
  const { code } = await done.exited;
  const outputs = new Map([
    [`standard output of ${command.join(" ")}`, done.stdout],
    [`standard error of ${command.join(" ")}`, done.stderr],
  ]);
  return { code, outputs };
}
