import { spawnSync } from "node:child_process";
import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { readBeside } from "../../../src/features/state/quiet-file.ts";
import { keptIn } from "../../../src/features/report/report-rows.ts";
import { incidentRow } from "../../../src/features/state/tables.ts";
import { SqliteThread } from "../../../src/features/state/thread.ts";
import { periodOf } from "../../../src/features/report/period.ts";
import { NOTHING, reportedOf } from "../../../src/features/report/report.ts";
import { DAY_MS, HOUR_MS, hourOf } from "../../../src/kernel/time/duration.ts";
import { sampleUpstream } from "../../support/kernel-samples.ts";
import { batchAt, NOW_MS, savedAt, StateBench, TIMEOUT } from "./bench.ts";

const SLA = {
  atLeast: 0.999,
  unit: "minute",
  badUnit: "any_failed",
  credits: undefined,
  claimWithinMs: undefined,
  timeZone: undefined,
} as const;
const EMAIL = [reportedOf(sampleUpstream({ name: "email" }))];

/** Slowly, so that a writer comes in between. Each of its batches adds as many to both tables. */
function readSlowly(database: DatabaseSync): { readonly hours: number; readonly polls: number } {
  const hours = Number(database.prepare("SELECT total(polls) AS n FROM hours").get()?.["n"]);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
  const polls = Number(database.prepare("SELECT count(*) AS n FROM polls").get()?.["n"]);
  return { hours, polls };
}

function openFilesOf(path: string): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path;
    } catch {
      return false;
    }
  }).length;
}

test("what is read beside a daemon that writes all the time is of one moment, and costs it neither lock nor files", async () => {
  await using bench = await StateBench.make();
  const thread = new SqliteThread(bench.path);
  await thread.open(NOW_MS);
  const over = new AbortController();
  let batches = 0;
  // As many as fit: each adds to three tables in one transaction.
  const writing = (async () => {
    while (!over.signal.aborted) {
      const polls = Array.from({ length: 40 }, (_, turn) =>
        savedAt(NOW_MS + 60_000 * ((batches * 7 + turn) % 300)),
      );
      const reply = await thread.write(batchAt(NOW_MS, { polls }));
      if (reply.kind !== "written") throw new Error(JSON.stringify(reply));
      batches += 1;
      // Many together, and then none for a while, as the daemon does it.
      await new Promise((resolve) => setTimeout(resolve, batches % 5 === 0 ? 250 : 5));
    }
  })();
  const seen = new Set<number>();
  while (seen.size < 8) {
    const { hours, polls } = readBeside(bench.path, readSlowly);
    expect(hours).toBe(polls);
    seen.add(polls);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  over.abort();
  await writing;
  expect(openFilesOf(bench.path)).toBeLessThanOrEqual(2);
  const other = spawnSync(
    process.execPath,
    [
      "-e",
      `new (require("node:sqlite").DatabaseSync)(${JSON.stringify(bench.path)}).exec("BEGIN EXCLUSIVE")`,
    ],
    { encoding: "utf8" },
  );
  expect(other.stderr).toContain("database is locked");
  await thread.close();
});

test("a file of another version is told, and so is one whose last write was not completed", async () => {
  await using bench = await StateBench.make();
  const store = await bench.open();
  await store.close();
  const period = periodOf(
    { firstDay: Math.floor(NOW_MS / DAY_MS), lastDay: Math.floor(NOW_MS / DAY_MS) },
    "UTC",
    NOW_MS + DAY_MS,
  );
  const read = (): unknown => keptIn(bench.path, EMAIL, period);
  expect(read()).toMatchObject(new Map([["email", { days: [NOTHING], costs: [] }]]));
  for (const version of [0, 99]) {
    bench.change(`PRAGMA user_version = ${version}`);
    expect(read).toThrow(`is of version ${version}, and this pacewatch reads version 1`);
  }
});

test("the hours of a day are those from its midnight to the next, and no other upstream's", async () => {
  await using bench = await StateBench.make();
  const thread = new SqliteThread(bench.path);
  await thread.open(NOW_MS);
  const firstDay = Math.floor(NOW_MS / DAY_MS);
  const fromMs = firstDay * DAY_MS;
  const polls = [-1, 0, 1, DAY_MS - 1, DAY_MS].map((afterMs) => savedAt(fromMs + afterMs));
  await thread.write(batchAt(NOW_MS, { polls: [...polls, savedAt(fromMs, undefined, "other")] }));
  await thread.close();
  const period = periodOf({ firstDay, lastDay: firstDay }, "UTC", NOW_MS + DAY_MS);
  const [day] = keptIn(bench.path, EMAIL, period).get("email")?.days ?? [];
  expect(day).toMatchObject({ polls: 3, ok: 3, watchedMinutes: 2 });
  expect(hourOf(fromMs) % 24).toBe(0);
});

test("a day has the same figures whether it was added up or its hours are, also after it has changed", async () => {
  await using bench = await StateBench.make();
  const firstDay = Math.floor(NOW_MS / DAY_MS);
  const nowMs = (firstDay + 3) * DAY_MS + HOUR_MS;
  const asked = { firstDay, lastDay: firstDay + 3 };
  const reported = [...EMAIL, { ...reportedOf(sampleUpstream({ name: "ai-router" })), sla: SLA }];
  const figures = (timeZone: string): readonly unknown[] => {
    const kept = keptIn(bench.path, reported, periodOf(asked, timeZone, nowMs));
    return [...kept].map(([name, { days }]) => ({ name, days }));
  };
  const thread = new SqliteThread(bench.path);
  await thread.open(NOW_MS);
  const polls = Array.from({ length: 200 }, (_, turn) =>
    savedAt(
      firstDay * DAY_MS + turn * 1_234_567,
      turn % 3 === 0 ? TIMEOUT : undefined,
      turn % 2 === 0 ? "email" : "ai-router",
    ),
  );
  await thread.write(batchAt(firstDay * DAY_MS, { polls }));
  const [ofHours, elsewhere] = [figures("UTC"), figures("Europe/Berlin")];
  // One batch for each of the last seven days, an hour after their end.
  for (let batches = 0; batches < 8; batches += 1) await thread.write(batchAt(nowMs));
  expect(bench.query("SELECT count(*) AS n, max(day) AS last FROM days")).toEqual([
    { n: 6, last: firstDay + 2 },
  ]);
  expect([figures("UTC"), figures("Europe/Berlin")]).toEqual([ofHours, elsewhere]);
  await thread.write(
    batchAt(nowMs, { polls: [savedAt((firstDay + 1) * DAY_MS, TIMEOUT), savedAt(firstDay * DAY_MS + 1)] }),
  );
  const changed = figures("UTC");
  expect(changed).not.toEqual(ofHours);
  expect(bench.count("days")).toBe(4);
  await thread.close();
  bench.change("DELETE FROM days");
  expect(figures("UTC")).toEqual(changed);
});

test("days that end after a clock that was far ahead was set right are added up too", async () => {
  await using bench = await StateBench.make();
  const today = Math.floor(NOW_MS / DAY_MS);
  const thread = new SqliteThread(bench.path);
  await thread.open(NOW_MS);
  // A clock that is two days ahead takes today for over.
  for (let batches = 0; batches < 8; batches += 1)
    await thread.write(batchAt((today + 2) * DAY_MS + HOUR_MS));
  for (const day of [today, today + 1])
    await thread.write(batchAt(day * DAY_MS + HOUR_MS, { polls: [savedAt(day * DAY_MS + HOUR_MS)] }));
  for (let batches = 0; batches < 2; batches += 1)
    await thread.write(batchAt((today + 2) * DAY_MS + HOUR_MS));
  await thread.close();
  expect(bench.query("SELECT day FROM days").map(({ day }) => day)).toEqual([today, today + 1]);
});

test.each([
  ["days that are added up", "FROM days"],
  ["hours", "CROSS JOIN hours"],
])("what was read of %s is forgotten where a write came in between", async (_, read) => {
  await using bench = await StateBench.make();
  const firstDay = Math.floor(NOW_MS / DAY_MS);
  const nowMs = (firstDay + 1) * DAY_MS + HOUR_MS;
  const thread = new SqliteThread(bench.path);
  await thread.open(NOW_MS);
  const polls = ["email", "router"].map((name) => savedAt(firstDay * DAY_MS, undefined, name));
  await thread.write(batchAt(NOW_MS, { polls }));
  if (read === "FROM days") for (let turn = 0; turn < 8; turn += 1) await thread.write(batchAt(nowMs));
  await thread.close();
  let statements = 0;
  const watch = (): void => {
    const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
    prepare.mockImplementation(function (this: DatabaseSync, sql) {
      prepare.mockRestore();
      if (sql.includes(read)) statements += 1;
      // One upstream is read by then, and the other is not.
      if (statements === 2) bench.change("UPDATE hours SET polls = 7");
      const statement = this.prepare(sql);
      if (statements < 2) watch();
      return statement;
    });
  };
  watch();
  const reported = [...EMAIL, { ...reportedOf(sampleUpstream({ name: "router" })), sla: SLA }];
  const kept = keptIn(bench.path, reported, periodOf({ firstDay, lastDay: firstDay }, "UTC", nowMs));
  expect([...kept].map(([name, { days }]) => [name, days[0]?.polls])).toEqual([
    ["email", 7],
    ["router", 7],
  ]);
});

test("each upstream has its own incidents, whichever is asked for first", async () => {
  await using bench = await StateBench.make();
  const thread = new SqliteThread(bench.path);
  await thread.open(NOW_MS);
  // More than are read together; each third has none.
  const names = Array.from({ length: 35 }, (_, place) => `upstream-${place}`);
  const started = (place: number): readonly number[] => (place % 3 === 0 ? [] : [NOW_MS + place]);
  const rows = names.flatMap((upstream, place) =>
    started(place).map((startedAtMs) => {
      const incident = { upstream, startedAtMs, state: "down" as const, reason: "timeout", polls: 2 };
      return incidentRow({ ...incident, endedAtMs: startedAtMs + 1 }, [], NOW_MS);
    }),
  );
  await thread.write(batchAt(NOW_MS, { rows }));
  await thread.close();
  const day = Math.floor(NOW_MS / DAY_MS);
  const period = periodOf({ firstDay: day, lastDay: day }, "UTC", NOW_MS + DAY_MS);
  const reported = names.map((name) => reportedOf(sampleUpstream({ name })));
  const kept = keptIn(bench.path, reported, period);
  const places = [...names.keys()];
  for (const place of [...places, ...places.toReversed()]) {
    const incidents = kept.get(names[place] ?? "")?.incidents() ?? [];
    expect(incidents.map(({ startedAtMs }) => startedAtMs)).toEqual(started(place));
  }
});

test("a journal that was left in the middle of a write is not read over", async () => {
  await using bench = await StateBench.make();
  await (await bench.open()).close();
  writeFileSync(
    `${bench.path}-journal`,
    Buffer.concat([Buffer.from("d9d505f920a163d7", "hex"), Buffer.alloc(504)]),
  );
  expect(() => readBeside(bench.path, () => "read", 3)).toThrow("start pacewatch, which completes it");
});
