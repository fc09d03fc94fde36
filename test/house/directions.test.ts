import { execFile } from "node:child_process";
import { copyFile, glob, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const OXLINT = join(ROOT, "node_modules/.bin/oxlint");

const FORBIDDEN: readonly (readonly [file: string, source: string])[] = [
  // Core is pure,
  ["src/core/time/reads-a-file.ts", 'import "node:fs";'],
  ["src/core/budget/uses-a-package.ts", 'import "zod";'],
  ["src/core/poll/looks-at-the-clock.ts", "export const now = (): number => Date.now();"],
  ["src/core/time/looks-at-the-clock.ts", "export const now = (): number => Date.now();"],
  ["src/core/poll/makes-a-date.ts", "export const now: Date = new Date();"],
  ["src/core/budget/waits.ts", "setTimeout(() => {}, 1);"],
  ["src/core/lead/throws-dice.ts", "export const dice = (): number => Math.random();"],
  ["src/core/config/asks-the-process.ts", "export const home: unknown = process.env;"],
  // knows nobody,
  ["src/core/poll/climbs-to-engine.ts", 'import "../../engine/poll/poller.ts";'],
  ["src/core/poll/climbs-to-app.ts", 'import "../../app/app.ts";'],
  ["src/core/poll/climbs-to-the-root.ts", 'import "../../version.ts";'],
  // and has an order of its own.
  ["src/core/in-no-room.ts", 'import "./time/clock.ts";'],
  ["src/core/time/looks-up.ts", 'import "../schedule/schedule.ts";'],
  ["src/core/advice/looks-up.ts", 'import "../budget/leases.ts";'],
  ["src/core/poll/looks-up.ts", 'import "../budget/leases.ts";'],
  ["src/core/lead/looks-sideways.ts", 'import "../schedule/hash.ts";'],
  ["src/core/proof/looks-sideways.ts", 'import "../status/status.ts";'],
  ["src/core/status/looks-up.ts", 'import "../history/history.ts";'],
  // Floors meet in app,
  ["src/engine/poll/visits-a-floor.ts", 'import "../../adapters/undici/probe.ts";'],
  ["src/config/read/visits-a-floor.ts", 'import "../../http/server/server.ts";'],
  ["src/config/visits-a-floor.ts", 'import "../adapters/thread.ts";'],
  ["src/files/visits-a-floor.ts", 'import "../config/load.ts";'],
  ["src/http/guards/visits-a-floor.ts", 'import "../../config/load.ts";'],
  ["src/http/guards/starts-a-thread.ts", 'import "../../adapters/thread.ts";'],
  ["src/adapters/redis/visits-a-floor.ts", 'import "../../engine/poll/poller.ts";'],
  ["src/adapters/visits-a-floor.ts", 'import "../engine/poll/poller.ts";'],
  // do not look up,
  ["src/engine/poll/climbs.ts", 'import "../../app/polling.ts";'],
  ["src/http/server/climbs.ts", 'import "../../app/app.ts";'],
  ["src/config/climbs.ts", 'import "../app/app.ts";'],
  ["src/adapters/log/climbs-to-the-root.ts", 'import "../../version.ts";'],
  ["src/adapters/climbs-to-the-root.ts", 'import "../version.ts";'],
  // and their rooms have an order.
  ["src/engine/receivers/looks-sideways.ts", 'import "../poll/poller.ts";'],
  ["src/config/read/looks-up.ts", 'import "../check/validate.ts";'],
  ["src/config/schema/looks-up.ts", 'import "../load.ts";'],
  ["src/config/check/looks-up.ts", 'import "../web/read.ts";'],
  ["src/config/web/looks-up.ts", 'import "../load.ts";'],
  ["src/http/page/looks-up.ts", 'import "../routes/routes.ts";'],
  ["src/http/guards/looks-up.ts", 'import "../server/server.ts";'],
  ["src/adapters/sqlite/looks-sideways.ts", 'import "../redis/connection.ts";'],
  // Above them likewise.
  ["src/app/build-climbs.ts", 'import "../commands/run.ts";'],
  ["src/app/climbs-to-main.ts", 'import "../main.ts";'],
  ["src/app/trusts-the-judge.ts", 'import "../simulator/upstream.ts";'],
  ["src/commands/climbs.ts", 'import "../main.ts";'],
  ["src/simulator/trusts-us.ts", 'import "../core/budget/leases.ts";'],
  ["src/simulator/knows-our-version.ts", 'import "../version.ts";'],
];

const ALLOWED: readonly (readonly [file: string, source: string])[] = [
  ["src/core/budget/looks-down.ts", 'import "../advice/advice.ts";'],
  ["src/core/budget/stays-inside.ts", 'import "./leases.ts";'],
  ["src/core/time/knows-the-calendar.ts", "export const epoch: number = Date.UTC(1970, 0, 1);"],
  ["src/engine/poll/imports-core.ts", 'import "../../core/budget/leases.ts";'],
  ["src/config/imports-its-rooms.ts", 'import "./check/validate.ts";'],
  ["src/http/server/looks-down.ts", 'import "../guards/basic-auth.ts";'],
  ["src/adapters/undici/looks-down.ts", 'import "../secrets/finder.ts";'],
  ["src/adapters/sqlite/starts-a-thread.ts", 'import "../thread.ts";'],
  ["src/adapters/redis/imports-a-package.ts", 'import "@redis/client";'],
  ["src/simulator/imports-node.ts", 'import "node:http";'],
  ["src/app/meets-the-floors.ts", 'import "../http/server/server.ts";'],
  ["src/commands/imports-the-app.ts", 'import "../app/app.ts";'],
];

let house: string;
let complained: ReadonlyMap<string, string>;

beforeAll(async () => {
  house = await mkdtemp(join(tmpdir(), "pacewatch-house-"));
  await copyFile(join(ROOT, "oxlint.config.ts"), join(house, "oxlint.config.ts"));
  await symlink(join(ROOT, "node_modules"), join(house, "node_modules"));
  for (const [file, source] of [...FORBIDDEN, ...ALLOWED]) {
    await mkdir(dirname(join(house, file)), { recursive: true });
    await writeFile(join(house, file), `${source}\n`);
  }
  complained = await complaints();
});

afterAll(() => rm(house, { recursive: true }));

/** What the linter says of each file, all files in one run. */
function complaints(): Promise<ReadonlyMap<string, string>> {
  return new Promise((resolve) => {
    const options = { cwd: house, maxBuffer: 1 << 24 };
    execFile(process.execPath, [OXLINT, "--format=json", "src"], options, (_, stdout) => {
      const { diagnostics }: { diagnostics: readonly { filename: string; code: string }[] } =
        JSON.parse(stdout);
      const byFile = Map.groupBy(diagnostics, ({ filename }) => filename);
      resolve(new Map([...byFile].map(([file, found]) => [file, found.map(({ code }) => code).join(" ")])));
    });
  });
}

test.for(FORBIDDEN)("the linter refuses %s: %s", ([file]) => {
  expect(complained.get(file)).toContain("no-restricted-");
});

test.for(ALLOWED)("the linter allows %s: %s", ([file]) => {
  expect(complained.get(file) ?? "").not.toContain("no-restricted-");
});

test("the calendar is made without looking at the clock", async () => {
  for await (const file of glob("src/core/time/*.ts", { cwd: ROOT }))
    expect(await readFile(join(ROOT, file), "utf8")).not.toMatch(/new Date\b|\bDate\.now|\bDate\(/);
});
