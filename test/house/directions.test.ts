import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { copyFile, glob, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const OXLINT = join(ROOT, "node_modules/.bin/oxlint");

const FORBIDDEN: readonly (readonly [file: string, source: string])[] = [
  // The kernel is pure,
  ["src/kernel/time/reads-a-file.ts", 'import "node:fs";'],
  ["src/kernel/budget/uses-a-package.ts", 'import "zod";'],
  ["src/kernel/poll/looks-at-the-clock.ts", "export const now = (): number => Date.now();"],
  ["src/kernel/time/looks-at-the-clock.ts", "export const now = (): number => Date.now();"],
  ["src/kernel/poll/makes-a-date.ts", "export const now: Date = new Date();"],
  ["src/kernel/polling/waits.ts", "setTimeout(() => {}, 1);"],
  ["src/kernel/config/asks-the-process.ts", "export const home: unknown = process.env;"],
  // imports nothing but itself,
  ["src/kernel/poll/knows-a-feature.ts", 'import "../../features/page/shell.ts";'],
  ["src/kernel/polling/knows-the-wire.ts", 'import "../../transport/probe.ts";'],
  ["src/kernel/metrics/starts-a-thread.ts", 'import "../../platform/thread.ts";'],
  ["src/kernel/polling/climbs-to-app.ts", 'import "../../app/app.ts";'],
  ["src/kernel/poll/climbs-to-the-root.ts", 'import "../../version.ts";'],
  // and has an order of its own.
  ["src/kernel/in-no-room.ts", 'import "./time/clock.ts";'],
  ["src/kernel/time/looks-up.ts", 'import "../schedule/schedule.ts";'],
  ["src/kernel/time/looks-sideways.ts", 'import "../text/escape.ts";'],
  ["src/kernel/poll/looks-up.ts", 'import "../budget/leases.ts";'],
  ["src/kernel/budget/looks-up.ts", 'import "../polling/poller.ts";'],
  // A floor knows no feature, and no other floor,
  ["src/transport/knows-a-feature.ts", 'import "../features/notify/notifier.ts";'],
  ["src/config/read/visits-a-floor.ts", 'import "../../http/server/server.ts";'],
  ["src/config/visits-a-floor.ts", 'import "../transport/probe.ts";'],
  ["src/platform/visits-a-floor.ts", 'import "../config/load.ts";'],
  ["src/http/guards/visits-a-floor.ts", 'import "../../config/load.ts";'],
  ["src/http/server/knows-a-feature.ts", 'import "../../features/state/file.ts";'],
  ["src/proof/knows-a-feature.ts", 'import "../features/fleet/fleet.ts";'],
  // does not look up,
  ["src/http/server/climbs.ts", 'import "../../app/app.ts";'],
  ["src/config/climbs.ts", 'import "../app/app.ts";'],
  ["src/transport/dns/climbs-to-the-root.ts", 'import "../../version.ts";'],
  // and its rooms have an order.
  ["src/config/read/looks-up.ts", 'import "../check/validate.ts";'],
  ["src/config/schema/looks-up.ts", 'import "../load.ts";'],
  ["src/config/check/looks-up.ts", 'import "../web/read.ts";'],
  ["src/config/web/looks-up.ts", 'import "../load.ts";'],
  ["src/http/guards/looks-up.ts", 'import "../server/server.ts";'],
  ["src/transport/dns/looks-up.ts", 'import "../probe.ts";'],
  // A feature knows those that it cannot be without,
  ["src/features/hints/knows-a-stranger.ts", 'import "../fleet/config.ts";'],
  ["src/features/fleet/lead/knows-a-stranger.ts", 'import "../../notify/notifier.ts";'],
  ["src/features/page/climbs.ts", 'import "../../app/app.ts";'],
  ["src/features/log/climbs-to-main.ts", 'import "../../main.ts";'],
  // and most of them decide without a clock.
  ["src/features/fleet/lead/throws-dice.ts", "export const dice = (): number => Math.random();"],
  ["src/features/hints/looks-at-the-clock.ts", "export const now = (): number => Date.now();"],
  // Above them likewise.
  ["src/app/build-climbs.ts", 'import "../commands/run.ts";'],
  ["src/app/climbs-to-main.ts", 'import "../main.ts";'],
  ["src/app/trusts-the-judge.ts", 'import "../simulator/upstream.ts";'],
  ["src/commands/climbs.ts", 'import "../main.ts";'],
  ["src/simulator/trusts-us.ts", 'import "../kernel/budget/leases.ts";'],
  ["src/simulator/knows-our-version.ts", 'import "../version.ts";'],
];

/** A folder that the linter was not told of would have no rules at all. */
const FOLDERS = readdirSync(join(ROOT, "src/features")).map(
  (feature) => [`src/features/${feature}/climbs-to-app.ts`, 'import "../../app/app.ts";'] as const,
);

const ALLOWED: readonly (readonly [file: string, source: string])[] = [
  ["src/kernel/budget/looks-down.ts", 'import "../poll/poll.ts";'],
  ["src/kernel/budget/stays-inside.ts", 'import "./leases.ts";'],
  ["src/kernel/time/knows-the-calendar.ts", "export const epoch: number = Date.UTC(1970, 0, 1);"],
  ["src/config/imports-its-rooms.ts", 'import "./check/validate.ts";'],
  ["src/config/asks-the-proof.ts", 'import "../proof/proof.ts";'],
  ["src/http/server/looks-down.ts", 'import "../guards/basic-auth.ts";'],
  ["src/transport/looks-down.ts", 'import "./secrets/finder.ts";'],
  ["src/features/report/knows-a-base.ts", 'import "../history/history.ts";'],
  ["src/features/fleet/lead/imports-the-kernel.ts", 'import "../../../kernel/time/clock.ts";'],
  ["src/features/state/starts-a-thread.ts", 'import "../../platform/thread.ts";'],
  ["src/features/fleet/redis/imports-a-package.ts", 'import "@redis/client";'],
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
  for (const [file, source] of [...FORBIDDEN, ...FOLDERS, ...ALLOWED]) {
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

test.for([...FORBIDDEN, ...FOLDERS])("the linter refuses %s: %s", ([file]) => {
  expect(complained.get(file)).toContain("no-restricted-");
});

test.for(ALLOWED)("the linter allows %s: %s", ([file]) => {
  expect(complained.get(file) ?? "").not.toContain("no-restricted-");
});

test("the calendar is made without looking at the clock", async () => {
  for await (const file of glob("src/kernel/time/*.ts", { cwd: ROOT }))
    expect(await readFile(join(ROOT, file), "utf8")).not.toMatch(/new Date\b|\bDate\.now|\bDate\(/);
});
