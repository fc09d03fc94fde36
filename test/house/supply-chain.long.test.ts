import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { billOfMaterials } from "../../tools/sbom.ts";
import { requireBinary } from "../support/processes/binaries.ts";

const ROOT = join(import.meta.dirname, "../..");

/** What may be used without asking whoever uses Pacewatch for anything. */
const LICENCES: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
]);

/** Few enough that each can be looked at when it changes. */
const MOST_PACKAGES = 40;

type Entry = {
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly hasInstallScript?: boolean;
};

type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly license?: unknown;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
};

function readJson(...path: readonly string[]): unknown {
  return JSON.parse(readFileSync(join(ROOT, ...path), "utf8"));
}

const manifest = readJson("package.json") as Manifest;
const lock = readJson("package-lock.json") as { readonly packages: Readonly<Record<string, Entry>> };
const installed = Object.entries(lock.packages).filter(([path]) => path !== "");

/** What `npm ci --omit=dev` installs: its directory, and what it says of itself. */
const production: readonly (readonly [path: string, manifest: Manifest])[] = installed
  .filter(([, entry]) => entry.dev !== true && entry.devOptional !== true && entry.link !== true)
  .map(([path]) => [path, readJson(path, "package.json") as Manifest]);

test("production needs few packages, and each has a licence that asks nothing of its users", () => {
  expect(production.length).toBeGreaterThan(Object.keys(manifest.dependencies ?? {}).length);
  expect(production.length).toBeLessThanOrEqual(MOST_PACKAGES);
  const refused = production.filter(
    ([, { license }]) => typeof license !== "string" || !LICENCES.has(license),
  );
  expect(refused.map(([path, { license }]) => `${path}: ${String(license)}`)).toEqual([]);
});

test("no package that production needs runs anything when it is installed", () => {
  const flagged = installed.filter(([path, entry]) => {
    return entry.hasInstallScript === true && production.some(([other]) => other === path);
  });
  expect(flagged).toEqual([]);
  const scripted = production.filter(([path, { scripts = {} }]) => {
    // npm compiles whatever has this file, without being told to.
    const compiles = existsSync(join(ROOT, path, "binding.gyp"));
    return compiles || ["preinstall", "install", "postinstall"].some((name) => name in scripts);
  });
  expect(scripted.map(([path]) => path)).toEqual([]);
});

test("every package is pinned to the hash of its content", () => {
  const loose = installed.filter(([, { integrity, link }]) => {
    return link !== true && integrity?.startsWith("sha512-") !== true;
  });
  // Our own, which lies beside.
  expect(loose.map(([path]) => path)).toEqual(["tools/node-runtime"]);
});

test("the table of dependencies names them all, with their licences, and no others", () => {
  const page = readFileSync(join(ROOT, "docs/dependencies.md"), "utf8");
  const [table = ""] = page.split("## ").slice(1);
  const rows = [...table.matchAll(/^\| \[`([^`]+)`\]\(\S+\)\s+\| (.+?)\s+\| (.+?)\s+\| (\S+)\s+\|$/gm)];
  const written = rows.map(([, name, use, why, licence]) => [
    name,
    (use ?? "") !== "",
    (why ?? "") !== "",
    licence,
  ]);
  const needed = Object.keys(manifest.dependencies ?? {}).map((name) => {
    const found = production.find(([path]) => path === `node_modules/${name}`);
    return [name, true, true, found?.[1].license];
  });
  expect(written).toEqual(needed);
});

const NPM = requireBinary("npm");

test.skipIf(NPM === undefined)("the bill of materials lists each of them once, with its version", () => {
  const bill = billOfMaterials();
  expect(bill.bomFormat).toBe("CycloneDX");
  expect(bill.metadata.component).toMatchObject({ name: manifest.name, version: manifest.version });
  const listed = bill.components.map(({ purl }) => decodeURIComponent(purl)).sort();
  const needed = production.map(([, { name, version }]) => `pkg:npm/${name}@${version}`).sort();
  expect(listed).toEqual(needed);
});

type Audit = {
  readonly auditReportVersion: number;
  readonly vulnerabilities: Readonly<Record<string, unknown>>;
};

test.skipIf(NPM === undefined)("nothing that production needs has a known vulnerability", async (context) => {
  const report = await audit();
  if (report === undefined) {
    const why = "cannot tell: the package registry must answer npm audit, and did not";
    process.stderr.write(`\n*** SKIPPED: ${why}\n\n`);
    context.skip(why);
    return;
  }
  expect(Object.keys(report.vulnerabilities)).toEqual([]);
});

/** Undefined where the registry cannot be reached, or knows of no audits. */
function audit(): Promise<Audit | undefined> {
  const parameters = ["audit", "--omit=dev", "--json", "--fetch-retries=0", "--fetch-timeout=15000"];
  return new Promise((resolve) => {
    execFile("npm", parameters, { cwd: ROOT, encoding: "utf8" }, (_, stdout) => {
      const printed: unknown = stdout.startsWith("{") ? JSON.parse(stdout) : undefined;
      resolve(isAudit(printed) ? printed : undefined);
    });
  });
}

function isAudit(printed: unknown): printed is Audit {
  return typeof printed === "object" && printed !== null && "auditReportVersion" in printed;
}
