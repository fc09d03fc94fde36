import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { accountsOf } from "../../support/metrics/slot-accounts.ts";
import { WITHHELD } from "../../../src/transport/secrets/finder.ts";
import { WRITINGS } from "../../support/written.ts";
import { CANARIES, type CanaryWorld, echoesOf, leaksIn, MODES, openCanaryWorld } from "./canaries.ts";
import { ECHOES } from "./echo.ts";

let world: CanaryWorld;

beforeAll(async () => {
  world = await openCanaryWorld();
});

beforeEach(() => world.writeFiles());

afterAll(() => world[Symbol.asyncDispose]());

async function pagesOf(daemon: Daemon): Promise<ReadonlyMap<string, string>> {
  const names = world.config.upstreams.map(({ name }) => name);
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
  for (const name of await readdir(world.folder.folder)) {
    if (name.endsWith(".key") || name.endsWith(".mjs")) continue;
    files.set(name, (await readFile(join(world.folder.folder, name))).toString("latin1"));
  }
  return files;
}

/** The echoes that were not given each of their keys yet: a poll that ran out of time may not have arrived. */
function missedEchoes(): readonly string[] {
  return Object.entries(CANARIES).flatMap(([mode, { key }]) =>
    !MODES.includes(mode)
      ? []
      : echoesOf(mode).filter((echo) => world.upstream.keys.get(echo)?.has(key) !== true),
  );
}

/** Until every echo has been given every key, not to find one shows nothing. */
async function pagesOnceEveryKeyArrived(daemon: Daemon): Promise<ReadonlyMap<string, string>> {
  const watched = world.config.upstreams.length;
  const password = Buffer.from(`user:${CANARIES.proxy.key}`).toString("base64");
  const proxied = (): boolean => world.upstream.keys.get("in-every-place")?.has(password) === true;
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
  const sent = world.upstream.keys.get("in-every-place");
  await writeFile(join(world.folder.folder, "rotated.key"), CANARIES.afterRotation.key);
  await eventually("the new key is sent", () => sent?.has(CANARIES.afterRotation.key));
  await writeFile(join(world.folder.folder, "rotated.key"), "");
  await daemon.until(({ stdout }) => stdout.includes("cannot read key, the last one is kept"));
  await writeFile(join(world.folder.folder, "rotated.key"), CANARIES.afterRotation.key);
}

/** First with a key pasted where its variable's name belongs; then as it should be. */
async function reload(daemon: Daemon): Promise<string> {
  await world.folder.write(JSON.stringify(world.config).replace("BEARER_KEY", CANARIES.bearer.key));
  const refusal = await daemon.post("/-/reload");
  expect(refusal.status).toBe(400);
  // The variables are not in the process any more; what was read of them at the start serves all reloads.
  await world.folder.write({ ...world.config, log: { level: "debug" } });
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

it("no key leaves, whatever an upstream says, by any way out of the running daemon", async () => {
  const flags = `--import=${join(world.folder.folder, "bug.mjs")} --report-on-signal --report-directory=${world.folder.folder}`;
  await using daemon = await startDaemon({
    configPath: world.folder.path,
    environment: { ...world.environment, NODE_OPTIONS: flags },
  });
  const pages = await pagesOnceEveryKeyArrived(daemon);
  // What was taken out left its mark: the pages do tell of these answers.
  const pageOf = (how: string): string | undefined => {
    const path = `/echo/shape-${Object.keys(WRITINGS).indexOf(how)}`;
    const name = world.config.upstreams.find((upstream) => upstream.path === path)?.name;
    return pages.get(`/api/v1/upstreams/${name}`);
  };
  expect(pageOf("as it is")).toContain("<secret> is not known here");
  expect(pageOf("in base64")).toContain(WITHHELD);
  // A 401: nothing of its body is kept.
  expect(pages.get("/api/v1/upstreams/bearer-0")).not.toMatch(/no such key|excerpt/);
  expect(pages.get("/api/v1/config")).toContain("/echo/in-every-place/${PATH_KEY}");
  expect(world.upstream.keys.get("in-every-place")).toContain(CANARIES.path.key);

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
  expect([...world.upstream.keys.keys()].filter((echo) => ECHOES[echo] === undefined)).toEqual([]);
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
