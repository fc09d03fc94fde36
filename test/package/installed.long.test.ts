import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { build } from "../../tools/build.ts";
import { requireBinary } from "../support/processes/binaries.ts";
import { endWithUs } from "../support/processes/ends-with-us.ts";
import { ask } from "../support/http-ask.ts";
import { eventually } from "../support/eventually.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const EPOCH_S = 1_750_000_000;
const LARGEST_BYTES = 1_450_000;

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

test("a release writes into the package where its repository is", async () => {
  const release = join(folder, "release");
  vi.stubEnv("GITHUB_SERVER_URL", "https://github.com");
  vi.stubEnv("GITHUB_REPOSITORY", "Some-Owner/Pacewatch");
  await build({ folder: release, commit: COMMIT, epochS: EPOCH_S }).finally(() => vi.unstubAllEnvs());
  expect(JSON.parse(await readFile(join(release, "package.json"), "utf8"))).toMatchObject({
    homepage: "https://github.com/Some-Owner/Pacewatch#readme",
    repository: { type: "git", url: "git+https://github.com/Some-Owner/Pacewatch.git" },
    bugs: { url: "https://github.com/Some-Owner/Pacewatch/issues" },
  });
});

test("no page of the package links to what is not in it", async () => {
  const shipped = (await run("tar", ["-tzf", packed], folder)).out.split("\n");
  const pages = shipped.filter((path) => path.endsWith(".md"));
  expect(pages).toEqual(expect.arrayContaining(["package/README.md", "package/docs/configuration.md"]));
  expect(pages.filter((path) => path.startsWith("package/docs/runbooks/")).length).toBeGreaterThan(20);
  const readme = await readFile(join(folder, "dist/README.md"), "utf8");
  expect(readme).toContain('<img alt="The status page');
  const dead: string[] = [];
  let links = 0;
  for (const page of pages) {
    const text = await readFile(join(folder, page.replace("package", "dist")), "utf8");
    const code = /```[^]*?```|`[^`\n]*`/g;
    for (const [, inText, inTag] of text
      .replaceAll(code, "")
      .matchAll(/\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"/g)) {
      const [target = ""] = (inText ?? inTag ?? "").split("#");
      if (target === "" || /^[a-z]+:/.test(target)) continue;
      links += 1;
      const path = posix.join(page, "..", target);
      if (!shipped.some((each) => each === path || each.startsWith(path.replace(/\/?$/, "/"))))
        dead.push(`${page}: ${target}`);
    }
  }
  expect(dead).toEqual([]);
  expect(links).toBeGreaterThan(100);
});

test("the bill of materials says nothing of the npm that wrote it, which another machine may not have", async () => {
  const bill = JSON.parse(await readFile(join(folder, "dist/sbom.json"), "utf8"));
  expect(bill.metadata).not.toHaveProperty("tools");
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
  await install([packed], home);
  expect((await readdir(join(home, "node_modules"))).filter((name) => !name.startsWith("."))).toEqual([
    "pacewatch",
  ]);

  const program = join(home, "node_modules/.bin/pacewatch");
  const pacewatch = (...args: readonly string[]): Promise<Ended> => run(program, args, home, KEYS);
  const version = await pacewatch("--version");
  expect(version.out).toMatch(
    new RegExp(`^\\d+\\.\\d+\\.\\d+ \\(commit ${COMMIT}, Node\\.js ${process.versions.node}\\)\\n$`),
  );
  const missing = await pacewatch("check");
  const [, sample = ""] = / begin with a copy of (\S+\.yaml);/.exec(missing.err) ?? [];
  expect(missing).toMatchObject({ code: 1, out: "" });
  expect(missing.err).not.toContain("refused");
  const shipped = join(home, "node_modules/pacewatch/config/pacewatch.yaml");
  expect(await readFile(sample, "utf8")).toBe(await readFile(shipped, "utf8"));
  const checked = await pacewatch("check", "--config", shipped);
  expect(checked).toMatchObject({ code: 0, err: "" });
  expect(checked.out).toContain("fits: 2 upstreams on 2 budgets");
  const committed = join(import.meta.dirname, "../../config");
  const rules = await pacewatch("rules", "--config", shipped);
  const made = `# Made by: pacewatch rules --config ${shipped}`;
  const committedRules = await readFile(join(committed, "prometheus/rules.yml"), "utf8");
  expect(rules.out).toBe(`${made}\n${committedRules}`);
  const wanted = ["--severity", "page=critical,ticket=warning", "--label", "team=x", "--label", "tier=1"];
  const own = await pacewatch("rules", "--config", shipped, ...wanted, "--without", "PacewatchDown");
  expect(own.out.split("\n")[0]).toBe(
    `${made} --severity page=critical --severity ticket=warning --label team=x --label tier=1 --without PacewatchDown`,
  );
  const dashboard = await pacewatch("dashboard", "--config", shipped);
  expect(JSON.parse(dashboard.out)).toEqual(
    JSON.parse(await readFile(join(committed, "grafana/dashboards/pacewatch.json"), "utf8")),
  );
  const schema = await pacewatch("schema");
  expect(JSON.parse(schema.out)).toEqual(JSON.parse(await readFile(join(committed, "schema.json"), "utf8")));
});

test("installed for everybody, the demo polls within seconds, and ends when it is asked to", async () => {
  const prefix = await mkdtemp(join(folder, "global-"));
  await install(["--global", `--prefix=${prefix}`, packed], folder);
  await using demo = start(join(prefix, "bin/pacewatch"), ["demo"], prefix);
  await polled(demo);
  // The style of the page is a file of its own.
  expect((await ask(`${await demo.url()}/`)).body).toContain("--");
  demo.kill("SIGTERM");
  expect(await demo.exited).toEqual([0, null]);
});

test("npx runs the demo in an empty folder without a network, and Ctrl-C ends both", async () => {
  const home = await mkdtemp(join(folder, "npx-"));
  await using demo = start("npx", ["--yes", `--package=${packed}`, "pacewatch", "demo"], home);
  await polled(demo);
  // A terminal sends it to all who run in it.
  demo.kill("SIGINT", "with all that it started");
  await demo.exited;
  expect(demo.said()).toMatch(/^email: at most \d+ of 1000 requests in any 60 s, by its own count$/m);
  expect(await readdir(home)).toEqual([]);
});

test("as a dependency of a project, its scripts can run it", async () => {
  const home = await mkdtemp(join(folder, "project-"));
  const manifest = {
    private: true,
    dependencies: { pacewatch: `file:${packed}` },
    scripts: { config: "pacewatch check --config node_modules/pacewatch/config/pacewatch.yaml" },
  };
  await writeFile(join(home, "package.json"), JSON.stringify(manifest));
  await install([], home);
  const checked = await run("npm", ["run", "--silent", "config"], home, KEYS);
  expect(checked).toMatchObject({ code: 0, err: "" });
  expect(checked.out).toContain("fits: 2 upstreams on 2 budgets");
  // What the lock file says is enough for the next machine.
  expect(await run("npm", ["ci"], home)).toMatchObject({ code: 0 });
});

/** Says at the end which of its own modules Node.js compiled anew. */
const COMPILED_ANEW = `
  const { internalBinding } = require("internal/test/binding");
  process.on("exit", () => {
    const { compiledWithoutCache } = internalBinding("builtins").getCacheUsage();
    const anew = [...compiledWithoutCache].filter((name) => !name.startsWith("internal/"));
    require("fs").writeFileSync(__filename + ".json", JSON.stringify(anew));
  });
`;

test("of its own modules, Node.js compiles none anew for a daemon: it has them compiled already", async () => {
  const home = await mkdtemp(join(folder, "compiled-"));
  const told = join(home, "told.cjs");
  await writeFile(told, COMPILED_ANEW);
  const config = join(folder, "dist/config/pacewatch.yaml");
  const program = join(folder, "dist/bin/pacewatch.mjs");
  const args = ["--no-warnings", "--expose-internals", "--require", told, program, "run", "--config", config];
  await using daemon = start(process.execPath, args, home, KEYS);
  expect((await ask(`${await daemon.url()}/metrics`)).status).toBe(200);
  daemon.kill("SIGTERM");
  await daemon.exited;
  expect(JSON.parse(await readFile(`${told}.json`, "utf8"))).toEqual([]);
});

test("an older Node.js says in a sentence what is needed", async () => {
  const home = await mkdtemp(join(folder, "older-"));
  await install([packed], home);
  // It knows no flag of its own, as the one of a machine that is years old.
  const older = join(home, "older/node");
  await mkdir(join(home, "older"));
  const pretended = "Object.defineProperty(process.versions, 'node', { value: '20.20.2' })";
  const script = `#!/bin/sh
case "$1" in --disable*) echo "$0: bad option: $1" >&2; exit 9;; esac
exec "${process.execPath}" --import "data:text/javascript,${encodeURIComponent(pretended)}" "$@"
`;
  await writeFile(older, script, { mode: 0o755 });
  const PATH = `${join(home, "older")}:${process.env["PATH"]}`;
  const ran = await run(join(home, "node_modules/.bin/pacewatch"), ["--version"], home, { PATH });
  expect(ran).toMatchObject({ code: 1, out: "" });
  expect(ran.err).toBe(
    `pacewatch needs Node.js 24 or newer, and this is 20.20.2: get it from https://nodejs.org/en/download, with "nvm install 24", or beside pacewatch with "npm install node-linux-${process.arch}@24", then run "npx pacewatch".\n`,
  );
});

async function install(args: readonly string[], cwd: string): Promise<void> {
  const { code, err } = await run("npm", ["install", ...args], cwd);
  if (code !== 0) throw new Error(`cannot install: ${err}`);
}

type Started = AsyncDisposable & {
  readonly exited: Promise<readonly unknown[]>;
  said(): string;
  url(): Promise<string>;
  kill(signal: NodeJS.Signals, whom?: "with all that it started"): void;
};

function start(program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Started {
  const child = spawn(program, [...args, "--listen", "127.0.0.1:0"], {
    cwd,
    env: { ...environment(), ...env },
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  endWithUs(child);
  // When nobody has its output any more: npm may go before what it started.
  const exited = once(child, "close");
  let hasEnded = false;
  child.once("close", () => (hasEnded = true));
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  const kill: Started["kill"] = (signal, whom) => {
    if (child.pid === undefined || hasEnded) return;
    process.kill(whom === undefined ? child.pid : -child.pid, signal);
  };
  return {
    exited,
    said: () => said,
    async url() {
      const found = await eventually(
        "it says where it listens",
        () => /http:\/\/127\.0\.0\.1:\d+/.exec(said),
        (address) => address !== null,
      );
      return found?.[0] ?? "";
    },
    kill,
    async [Symbol.asyncDispose]() {
      kill("SIGKILL", "with all that it started");
      await exited;
    },
  };
}

async function polled(demo: Started): Promise<void> {
  const url = await demo.url();
  const ok = /^pacewatch_polls_total\{(?=[^}]*upstream="email")(?=[^}]*outcome="ok")[^}]*\} [1-9]/m;
  await eventually(
    "it polled",
    async () => (await ask(`${url}/metrics`)).body,
    (text) => ok.test(text),
  );
}

/** Throws where a file of the bundle is, and prints what is left of the error. */
const THROWER = `
  const { nameSourcesInStackTraces } = await import("./stack-traces.js");
  nameSourcesInStackTraces();
  try { await import("./worker.js"); } catch (error) { console.log(error.stack); }
`;

test("a stack trace names the sources", async () => {
  const { out } = await run(
    process.execPath,
    ["--input-type=module", "-e", THROWER],
    join(folder, "dist/lib"),
  );
  expect(out).toMatch(/^TypeError: .+\n {4}at src\/features\/state\/worker\.ts:\d+:\d+/);
});
