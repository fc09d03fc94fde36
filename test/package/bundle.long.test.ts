import { builtinModules } from "node:module";
import { dirname, join } from "node:path/posix";
import { beforeAll, expect, test } from "vitest";
import { bundle, notices, type Bundle } from "../../tools/package/bundle.ts";

let built: Bundle;
let files: ReadonlyMap<string, string>;

beforeAll(async () => {
  built = await bundle("0123abc");
  files = new Map([...built.files].map(([path, content]) => [path, Buffer.from(content).toString()]));
});

const STATIC = /(?:^|[;}\n])(?:import|export)(?:[\w$*\s{},]*from)?"([^"]+)"/g;
const LATER = /\bimport\(`([^`]+)`\)/g;

/** Code, in which each name that is quoted after `import` is a module's. */
function imports(path: string, pattern: RegExp): readonly string[] {
  return [...(files.get(path) ?? "").matchAll(pattern)].map(([, name = ""]) => name);
}

/** A file, and all that is loaded with it. */
function loadedWith(path: string, found: Set<string> = new Set()): ReadonlySet<string> {
  if (found.has(path)) return found;
  found.add(path);
  for (const name of imports(path, STATIC)) {
    if (name.startsWith(".")) loadedWith(join(dirname(path), name), found);
  }
  return found;
}

function packagesLoadedWith(...paths: readonly string[]): readonly string[] {
  const loaded = paths.flatMap((path) => [...loadedWith(path)]);
  const names = loaded.flatMap((path) => /^lib\/of-(.+)\.js$/.exec(path)?.[1] ?? []);
  return [...new Set(names)].toSorted();
}

/** The Redis client loads it for one command, which is not used. */
const OPTIONAL = "@node-rs/xxhash";

const code = (): readonly string[] => [...files.keys()].filter((path) => /\.m?js$/.test(path));

test("everything that the code imports is in the bundle or in Node.js", () => {
  const missing = code().flatMap((path) =>
    [...imports(path, STATIC), ...imports(path, LATER)].filter((name) => {
      if (name.startsWith(".")) return !files.has(join(dirname(path), name));
      return !name.startsWith("node:") && !builtinModules.includes(name) && name !== OPTIONAL;
    }),
  );
  expect(missing).toEqual([]);
  expect(code().flatMap((path) => imports(path, STATIC)).length).toBeGreaterThan(100);
  expect(imports("lib/main.js", LATER).length).toBeGreaterThan(5);
});

test("every file that the code names is in the bundle, or beside it in the package", () => {
  const named = code().flatMap((path) =>
    [...(files.get(path) ?? "").matchAll(/new URL\(`([^`$]+)`,import\.meta\.url\)/g)].map(([, name = ""]) =>
      join(dirname(path), name),
    ),
  );
  expect(named).toEqual(expect.arrayContaining(["lib/page.css", "lib/judge-worker.js"]));
  const beside = new Set(["node_modules/.cache/pacewatch", "docs/runbooks/README.md"]);
  const missing = named.filter(
    (name) => !beside.has(name) && ![...files.keys()].some((path) => path === name || path.startsWith(name)),
  );
  expect(missing).toEqual([]);
});

test("a command loads nothing that only another command, a fleet or a thread needs", () => {
  expect(packagesLoadedWith("lib/main.js")).toEqual(["commander"]);
  const running = packagesLoadedWith("lib/run.js", "lib/build.js", "lib/logger.js");
  expect(running).toEqual(expect.arrayContaining(["hono", "undici", "yaml", "zod"]));
  const others = new Set(["@cfworker-json-schema", "@redis-client", "bcryptjs", "commander", "re2js"]);
  expect(running.filter((name) => others.has(name))).toEqual([]);
  expect([...loadedWith("lib/build.js")]).not.toContain("lib/demo.js");
  expect(packagesLoadedWith("lib/thread-start.js")).toEqual([]);
  const judging = packagesLoadedWith("lib/judge-worker.js");
  expect(judging.filter((name) => ["re2js", "@cfworker-json-schema"].includes(name))).toEqual([]);
  expect(packagesLoadedWith("lib/worker.js")).toEqual([]);
  expect(packagesLoadedWith("lib/bcrypt-worker.js")).toEqual(["bcryptjs"]);
});

test("of a module of Node.js, only what is named is read: the rest may load much more", () => {
  const whole = code().filter((path) => imports(path, STATIC).some((name) => !name.startsWith(".")));
  // Where an old Node.js must get as far as one line.
  expect(whole).toEqual(["bin/pacewatch.mjs"]);
  expect(files.get("lib/build.js")).toContain("globalThis.process.getBuiltinModule(`node:http`)");
});

test("node-cron reads the parts of dates without ICU, whose tables take memory for nothing else", () => {
  const cron = files.get("lib/of-node-cron.js") ?? "";
  expect(cron).toContain("formatToParts");
  expect(cron).not.toContain("Intl.");
});

test("nothing of HTTP/2 and OpenTelemetry is loaded, which nobody calls", () => {
  const loading = code().filter((path) => /[`"'](?:node:)?http2[`"']/.test(files.get(path) ?? ""));
  expect(loading).toEqual([]);
  expect(built.packages.filter((folder) => folder.includes("opentelemetry"))).toEqual([]);
});

test("V8 can keep the text of each file with one byte for each letter", () => {
  expect(code().filter((path) => /[^\0-\xFF]/.test(files.get(path) ?? ""))).toEqual([]);
});

test("the same sources make the same bundle", async () => {
  const again = await bundle("0123abc");
  expect(again.files).toEqual(built.files);
});

test("the commit is in it", () => {
  expect(files.get("lib/version.js")).toContain("0123abc");
});

test("the notices hold the licence of each package that is in it", async () => {
  const text = await notices(built.packages);
  expect(built.packages.length).toBeGreaterThan(20);
  const names = built.packages.map((folder) => folder.slice(folder.lastIndexOf("node_modules/") + 13));
  const parts = text.split("=".repeat(80)).slice(1);
  expect(parts).toHaveLength(names.length);
  const withoutLicence = parts.filter(
    (part) => !/permi(?:t|ssion)|license/i.test(part.split("\n").slice(3).join("\n")),
  );
  expect(withoutLicence).toEqual([]);
});
