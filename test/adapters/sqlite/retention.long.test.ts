import { statSync } from "node:fs";
import { expect, test } from "vitest";
import { StateFile } from "../../../src/adapters/sqlite/file.ts";
import type { StateBatch } from "../../../src/adapters/sqlite/messages.ts";
import { incidentRow, quotaRow } from "../../../src/adapters/sqlite/tables.ts";
import type { PollOutcome } from "../../../src/core/exchange/outcome.ts";
import type { SavedPoll } from "../../../src/core/history/state.ts";
import { pollStatusOf } from "../../../src/core/status/status.ts";
import { samplePoll, sampleQuotaRow } from "../../support/samples.ts";
import { NOW_MS, StateBench, TIMEOUT } from "./bench.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function savedAt(atMs: number, outcome: PollOutcome = { kind: "ok" }, upstream = "email"): SavedPoll {
  const status = pollStatusOf(
    samplePoll({ id: `${upstream} ${atMs}`, outcome, sentAtMs: atMs, endedAtMs: atMs }),
  );
  return { upstream, endedAtMs: atMs, withinObjective: true, status };
}

function batchAt(nowMs: number, changes: Partial<StateBatch> = {}): StateBatch {
  return { polls: [], foundOffline: [], rows: [], nowMs, ...changes };
}

/** Days of recording in a moment, in few batches: each of them goes to the disk, as its minute is over. */
function record(file: StateFile, fromMs: number, days: number, everyMs: number): number {
  const untilMs = fromMs + days * DAY_MS;
  for (let atMs = fromMs; atMs < untilMs; atMs += 6 * HOUR_MS) {
    const polls: SavedPoll[] = [];
    for (let each = atMs; each < atMs + 6 * HOUR_MS; each += everyMs) polls.push(savedAt(each));
    const reply = file.write(batchAt(atMs + 6 * HOUR_MS, { polls }));
    if (reply.kind !== "written") throw new Error(reply.trouble);
  }
  return untilMs;
}

test("polls are kept for a day, minutes for 30 days, hours for a year; availability of 30 days survives", async () => {
  await using bench = await StateBench.make();
  const file = new StateFile(bench.path);
  file.open(NOW_MS);
  const endMs = record(file, NOW_MS, 40, 5 * MINUTE_MS);
  expect(bench.query("SELECT min(ended_at_ms) AS at FROM polls")).toEqual([{ at: endMs - DAY_MS }]);
  expect(bench.count("minutes")).toBeLessThanOrEqual((30 * DAY_MS) / (5 * MINUTE_MS) + 2);
  expect(bench.count("hours")).toBe(40 * 24 + 1);
  expect(bench.query("SELECT sum(polls) AS n FROM hours")).toEqual([{ n: (40 * DAY_MS) / (5 * MINUTE_MS) }]);
  file.write(batchAt(endMs + 367 * DAY_MS));
  expect(["minutes", "hours", "polls"].map((table) => bench.count(table))).toEqual([0, 0, 0]);
  file.close();
});

test("its size stays what it is: the next days add nothing to what the first ones took", async () => {
  await using bench = await StateBench.make();
  const file = new StateFile(bench.path);
  file.open(NOW_MS);
  const sizeNow = (): number => statSync(bench.path).size + statSync(`${bench.path}-wal`).size;
  const polls = "SELECT sum(pgsize) AS bytes FROM dbstat WHERE name LIKE '%polls%' OR name LIKE '%failures%'";
  const firstEndMs = record(file, NOW_MS, 3, 15_000);
  const before = { size: sizeNow(), polls: Number(bench.query(polls)[0]?.["bytes"]) };
  record(file, firstEndMs, 3, 15_000);
  expect(Number(bench.query(polls)[0]?.["bytes"])).toBeLessThan(before.polls * 1.05);
  // Minutes and hours still grow, as they are kept for longer.
  expect(sizeNow()).toBeLessThan(before.size * 1.5);
  file.close();
});

test("an upstream's newest polls and failures outlive the day, until the year is over", async () => {
  await using bench = await StateBench.make();
  const file = new StateFile(bench.path);
  file.open(NOW_MS);
  const failures = Array.from({ length: 30 }, (_, turn) => savedAt(NOW_MS + turn, TIMEOUT));
  const successes = Array.from({ length: 100 }, (_, turn) => savedAt(NOW_MS + 1_000 + turn));
  file.write(batchAt(NOW_MS, { polls: [...failures, ...successes, savedAt(NOW_MS, TIMEOUT, "removed")] }));
  file.write(batchAt(NOW_MS + 200 * DAY_MS));
  expect(
    bench.query("SELECT outcome, count(*) AS n FROM polls WHERE upstream = 'email' GROUP BY outcome"),
  ).toEqual([
    { outcome: "failed", n: 20 },
    { outcome: "ok", n: 60 },
  ]);
  expect(bench.query("SELECT poll FROM polls WHERE upstream = 'removed'")).toHaveLength(1);
  file.write(batchAt(NOW_MS + 367 * DAY_MS));
  expect(bench.count("polls")).toBe(0);
  file.close();
});

test("of incidents the newest fifty of each upstream are kept; of quotas what their longest period needs", async () => {
  await using bench = await StateBench.make();
  const file = new StateFile(bench.path);
  file.open(NOW_MS);
  const incidents = Array.from({ length: 80 }, (_, turn) => ({
    upstream: turn % 8 === 0 ? "ai-router" : "email",
    state: "down" as const,
    reason: "timeout",
    startedAtMs: NOW_MS + turn,
    endedAtMs: NOW_MS + turn,
    polls: 2,
  }));
  const hour = Math.floor(NOW_MS / HOUR_MS);
  const quotas = [hour - 366 * 24, hour - 367 * 24 - 1].map((each) => sampleQuotaRow({ hour: each }));
  const rows = [...incidents.map((each) => incidentRow(each, NOW_MS)), ...quotas.map(quotaRow)];
  file.write(batchAt(NOW_MS, { rows }));
  expect(
    bench.query("SELECT upstream, count(*) AS n, min(started_at_ms) AS at FROM incidents GROUP BY upstream"),
  ).toEqual([
    { upstream: "ai-router", n: 10, at: NOW_MS },
    { upstream: "email", n: 50, at: incidents.filter((each) => each.upstream === "email")[20]?.startedAtMs },
  ]);
  expect(bench.query("SELECT hour FROM quota_hours")).toEqual([{ hour: hour - 366 * 24 }]);
  file.close();
});

test("a wall clock that was set back does not put the upkeep off for as long", async () => {
  await using bench = await StateBench.make();
  const file = new StateFile(bench.path);
  file.open(NOW_MS);
  const hour = Math.floor(NOW_MS / HOUR_MS);
  file.write(batchAt(NOW_MS + 400 * DAY_MS));
  file.write(batchAt(NOW_MS, { rows: [quotaRow(sampleQuotaRow({ hour: hour - 500 * 24 }))] }));
  expect(bench.count("quota_hours")).toBe(0);
  file.close();
});
