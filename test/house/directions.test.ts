import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

const OXLINT = join(import.meta.dirname, "../../node_modules/.bin/oxlint");

const FORBIDDEN: readonly (readonly [file: string, source: string])[] = [
  ["src/core/reads-a-file.ts", 'import "node:fs";'],
  ["src/core/uses-a-package.ts", 'import "zod";'],
  ["src/core/climbs.ts", 'import "../engine/poller.ts";'],
  ["src/core/looks-at-the-clock.ts", "export const now = (): number => Date.now();"],
  ["src/core/waits.ts", "setTimeout(() => {}, 1);"],
  ["src/core/throws-dice.ts", "export const dice = (): number => Math.random();"],
  ["src/core/asks-the-process.ts", "export const home: unknown = process.env;"],
  ["src/engine/visits-a-neighbour.ts", 'import "../adapters/undici.ts";'],
  ["src/config/climbs.ts", 'import "../app.ts";'],
  ["src/http/visits-a-neighbour.ts", 'import "../config/load.ts";'],
  ["src/adapters/visits-a-neighbour.ts", 'import "../engine/poller.ts";'],
  ["src/pack/visits-a-neighbour.ts", 'import "../config/load.ts";'],
  ["src/simulator/trusts-us.ts", 'import "../core/leases.ts";'],
  ["src/app.ts", 'import "./commands/run.ts";'],
  ["src/commands/climbs.ts", 'import "../main.ts";'],
];

const ALLOWED: readonly (readonly [file: string, source: string])[] = [
  ["src/core/imports-core.ts", 'import "./leases.ts";'],
  ["src/engine/imports-core.ts", 'import "../core/leases.ts";'],
  ["src/adapters/imports-a-package.ts", 'import "undici";'],
  ["src/simulator/imports-node.ts", 'import "node:http";'],
  ["src/commands/imports-the-app.ts", 'import "../app.ts";'],
];

let house: string;

beforeAll(async () => {
  house = await mkdtemp(join(tmpdir(), "pacewatch-house-"));
  await copyFile(join(import.meta.dirname, "../../.oxlintrc.json"), join(house, ".oxlintrc.json"));
  for (const [file, source] of [...FORBIDDEN, ...ALLOWED]) {
    await mkdir(dirname(join(house, file)), { recursive: true });
    await writeFile(join(house, file), `${source}\n`);
  }
});

afterAll(() => rm(house, { recursive: true }));

function complaints(file: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [OXLINT, file], { cwd: house }, (_, stdout) => resolve(stdout));
  });
}

test.for(FORBIDDEN)("the linter refuses %s: %s", async ([file]) => {
  expect(await complaints(file)).toContain("no-restricted-");
});

test.for(ALLOWED)("the linter allows %s: %s", async ([file]) => {
  expect(await complaints(file)).not.toContain("no-restricted-");
});
