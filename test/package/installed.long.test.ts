import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build } from "../../tools/build.ts";
import { requireBinary } from "../support/processes/binaries.ts";
import { endWithUs } from "../support/processes/ends-with-us.ts";
import { ask } from "../support/http-ask.ts";
import { eventually } from "../support/eventually.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const EPOCH_S = 1_750_000_000;
const LARGEST_BYTES = 1_000_000;

let folder: string;
let packed: string;

/** Without this machine's settings: no registry, no cache, no network, no key. */
const environment = (): NodeJS.ProcessEnv => ({
  PATH: process.env["PATH"],
  HOME: folder,
  npm_config_offline: "true",
  npm_config_registry: "http://127.0.0.1:9",
  npm_config_update_notifier: "false",
});

type Ended = { readonly code: number; readonly out: string; readonly err: string };

function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(program, [...args], { cwd, env: { ...environment(), ...env } }, (error, out, err) =>
      resolve({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1, out, err }),
    );
  });
}

const KEYS = {
  EMAIL_API_BASE_URL: "http://127.0.0.1:9",
  EMAIL_API_KEY: "test-key-email",
  AI_ROUTER_BASE_URL: "http://127.0.0.1:9",
  AI_ROUTER_API_KEY: "test-key-ai-router",
};

requireBinary("npm");

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pacewatch-package-"));
  await build({ folder: join(folder, "dist"), commit: COMMIT, epochS: EPOCH_S });
  const { code, out, err } = await run("npm", ["pack", "./dist"], folder);
  if (code !== 0) throw new Error(`cannot pack: ${err}`);
  packed = join(folder, out.trim().split("\n").at(-1) ?? "");
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test("the package is small, needs no other and runs nothing when it is installed", async () => {
  expect((await stat(packed)).size).toBeLessThan(LARGEST_BYTES);
  const manifest = JSON.parse(await readFile(join(folder, "dist/package.json"), "utf8"));
  expect(Object.keys(manifest).filter((key) => /dependencies|scripts|private/i.test(key))).toEqual([]);
  expect(manifest).toMatchObject({
    bin: { pacewatch: "bin/pacewatch.mjs" },
    engines: { node: ">=24" },
    exports: {},
  });
  const listed = (await run("tar", ["-tzf", packed], folder)).out;
  for (const file of ["LICENSE", "THIRD-PARTY-NOTICES.txt", "sbom.json", "config/schema.json", "README.md"]) {
    expect(listed).toContain(`package/${file}\n`);
  }
});

test("two builds of one commit are equal, byte by byte, mode by mode and time by time", async () => {
  await build({ folder: join(folder, "again"), commit: COMMIT, epochS: EPOCH_S });
  const one = await layer("dist");
  expect(await layer("again")).toBe(one);
  expect(one).toMatch(/^[0-9a-f]{64} /);
});

/** The hash of what an image's layer would be made of. */
async function layer(name: string): Promise<string> {
  const tar = "tar --create --sort=name --numeric-owner --owner=0 --group=0 --file=- . | sha256sum";
  return (await run("sh", ["-c", tar], join(folder, name))).out;
}

test("installed in an empty folder without a network, every command runs", async () => {
  const home = await mkdtemp(join(folder, "empty-"));
  const installing = await run("npm", ["install", packed], home);
  expect({ code: installing.code, err: installing.code === 0 ? "" : installing.err }).toEqual({
    code: 0,
    err: "",
  });
  expect((await readdir(join(home, "node_modules"))).filter((name) => !name.startsWith("."))).toEqual([
    "pacewatch",
  ]);

  const program = join(home, "node_modules/.bin/pacewatch");
  const pacewatch = (...args: readonly string[]): Promise<Ended> => run(program, args, home, KEYS);
  const version = await pacewatch("--version");
  expect(version.out).toMatch(
    new RegExp(`^\\d+\\.\\d+\\.\\d+ \\(commit ${COMMIT}, Node\\.js ${process.versions.node}\\)\\n$`),
  );
  const shipped = join(home, "node_modules/pacewatch/config/pacewatch.yaml");
  const checked = await pacewatch("check", "--config", shipped);
  expect(checked).toMatchObject({ code: 0, err: "" });
  expect(checked.out).toContain("fits: 2 upstreams on 2 budgets");
  const committed = join(import.meta.dirname, "../../config");
  const rules = await pacewatch("rules", "--config", shipped);
  expect(rules.out).toBe(await readFile(join(committed, "prometheus/rules.yml"), "utf8"));
  const dashboard = await pacewatch("dashboard", "--config", shipped);
  expect(JSON.parse(dashboard.out)).toEqual(
    JSON.parse(await readFile(join(committed, "grafana/dashboards/pacewatch.json"), "utf8")),
  );
  const schema = await pacewatch("schema");
  expect(JSON.parse(schema.out)).toEqual(JSON.parse(await readFile(join(committed, "schema.json"), "utf8")));
});

test("installed for everybody, the demo polls within seconds, and ends when it is asked to", async () => {
  const prefix = await mkdtemp(join(folder, "global-"));
  const installing = await run("npm", ["install", "--global", `--prefix=${prefix}`, packed], folder);
  expect({ code: installing.code, err: installing.code === 0 ? "" : installing.err }).toEqual({
    code: 0,
    err: "",
  });
  const demo = spawn(join(prefix, "bin/pacewatch"), ["demo", "--listen", "127.0.0.1:0"], {
    cwd: prefix,
    env: environment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  endWithUs(demo);
  const ended = once(demo, "exit");
  let said = "";
  demo.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  const [url = ""] = await eventually(
    "it says where it listens",
    () => /http:\/\/127\.0\.0\.1:\d+/.exec(said),
    (found) => found !== null,
  ).then((found) => found ?? []);
  const polled = /^pacewatch_polls_total\{(?=[^}]*upstream="email")(?=[^}]*outcome="ok")[^}]*\} [1-9]/m;
  await eventually(
    "it polled",
    async () => (await ask(`${url}/metrics`)).body,
    (text) => polled.test(text),
  );
  // The style of the page is a file of its own.
  expect((await ask(`${url}/`)).body).toContain("--");
  demo.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

/** Throws where a file of the bundle is, and prints what is left of the error. */
const THROWER = `
  const { nameSourcesInStackTraces } = await import("./stack-traces.js");
  nameSourcesInStackTraces();
  try { await import("./load-worker.js"); } catch (error) { console.log(error.stack); }
`;

test("a stack trace names the sources", async () => {
  const { out } = await run(
    process.execPath,
    ["--input-type=module", "-e", THROWER],
    join(folder, "dist/lib"),
  );
  expect(out).toMatch(/^TypeError: .+\n {4}at src\/app\/load-worker\.ts:\d+:\d+/);
});
