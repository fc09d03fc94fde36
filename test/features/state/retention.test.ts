import { statSync } from "node:fs";
import { expect, test } from "vitest";
import { StateFile } from "../../../src/features/state/file.ts";
import { retentionAt, INCIDENTS_IN_FILE, POLLS_IN_FILE } from "../../../src/features/state/retention.ts";
import { incidentRow, noteRow } from "../../../src/features/state/tables.ts";
import { EVIDENCE_POLLS } from "../../../src/features/history/incidents.ts";
import { FAILURES_KEPT, pollStatusOf } from "../../../src/features/history/kept-poll.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/kernel/time/duration.ts";
import { samplePoll } from "../../support/kernel-samples.ts";
import { sampleQuotaNote } from "../../support/samples.ts";
import { batchAt, NOW_MS, recordDays, savedAt, StateBench, TIMEOUT } from "./bench.ts";

/** All rows of one upstream, with a year of history. */
const FILE_BYTES_AN_UPSTREAM = 5_000_000;

test("polls are kept for a day, minutes for two days, hours for 400; availability of 30 days survives", async () => {
  await using bench = await StateBench.make();
  const file = new StateFile(bench.path);
  file.open(NOW_MS);
  const endMs = recordDays(file, NOW_MS, 40, 10 * MINUTE_MS);
  expect(bench.query("SELECT min(ended_at_ms) AS at FROM polls")).toEqual([{ at: endMs - DAY_MS }]);
  expect(bench.count("minutes")).toBeLessThanOrEqual((2 * DAY_MS) / (10 * MINUTE_MS) + 2);
  expect(bench.count("hours")).toBe(40 * 24 + 1);
  expect(bench.query("SELECT sum(polls) AS n FROM hours")).toEqual([{ n: (40 * DAY_MS) / (10 * MINUTE_MS) }]);
  file.write(batchAt(endMs + 401 * DAY_MS));
  expect(["minutes", "hours", "polls"].map((table) => bench.count(table))).toEqual([0, 0, 0]);
  file.close();
});

test("an upstream's newest polls and failures outlive the day, until 400 days are over", async () => {
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
  file.write(batchAt(NOW_MS + 401 * DAY_MS));
  expect(bench.count("polls")).toBe(0);
  file.close();
});

test("of incidents the newest 350 of each upstream are kept; of quotas what their longest period needs", async () => {
  await using bench = await StateBench.make();
  const file = new StateFile(bench.path);
  file.open(NOW_MS);
  const incidents = Array.from({ length: 600 }, (_, turn) => ({
    upstream: turn % 12 === 0 ? "ai-router" : "email",
    state: "down" as const,
    reason: "timeout",
    startedAtMs: NOW_MS + turn,
    endedAtMs: NOW_MS + turn,
    polls: 2,
  }));
  const hour = Math.floor(NOW_MS / HOUR_MS);
  const quotas = [hour - 400 * 24, hour - 402 * 24].map((each) => sampleQuotaNote({ hour: each }));
  const rows = [...incidents.map((each) => incidentRow(each, [], NOW_MS)), ...quotas.map(noteRow)];
  file.write(batchAt(NOW_MS, { rows }));
  expect(
    bench.query("SELECT upstream, count(*) AS n, min(started_at_ms) AS at FROM incidents GROUP BY upstream"),
  ).toEqual([
    { upstream: "ai-router", n: 50, at: NOW_MS },
    {
      upstream: "email",
      n: INCIDENTS_IN_FILE,
      at: incidents.filter((each) => each.upstream === "email")[200]?.startedAtMs,
    },
  ]);
  expect(bench.query("SELECT json FROM notes")).toEqual([{ json: `[[${hour - 400 * 24},5,0]]` }]);
  file.close();
});

test("a wall clock that was set back does not put the upkeep off for as long", async () => {
  await using bench = await StateBench.make();
  const file = new StateFile(bench.path);
  file.open(NOW_MS);
  const hour = Math.floor(NOW_MS / HOUR_MS);
  file.write(batchAt(NOW_MS + 400 * DAY_MS));
  file.write(batchAt(NOW_MS, { rows: [noteRow(sampleQuotaNote({ hour: hour - 500 * 24 }))] }));
  expect(bench.count("notes")).toBe(0);
  file.close();
});

test("a round keeps minutes for two days, hours for 400", () => {
  const nowMs = 1_790_000_000_000;
  const { day, minute = 0, hour = 0 } = retentionAt(nowMs);
  expect(day).toBe(nowMs - DAY_MS);
  expect(nowMs - minute * MINUTE_MS).toBeGreaterThanOrEqual(2 * DAY_MS);
  expect(nowMs - hour * HOUR_MS).toBeGreaterThanOrEqual(400 * DAY_MS);
});

test("of an upstream that is polled each second, a bounded number of polls is kept, and its newest failures", async () => {
  await using bench = await StateBench.make();
  const file = new StateFile(bench.path);
  file.open(NOW_MS);
  const failures = Array.from({ length: 30 }, (_, turn) => savedAt(NOW_MS + turn, TIMEOUT));
  const successes = Array.from({ length: 3 * POLLS_IN_FILE }, (_, turn) => savedAt(NOW_MS + 1_000 * turn));
  file.write(batchAt(NOW_MS, { polls: [...failures, ...successes, savedAt(NOW_MS, TIMEOUT, "removed")] }));
  expect(
    bench.query("SELECT upstream, outcome, count(*) AS n FROM polls GROUP BY upstream, outcome"),
  ).toEqual([
    { upstream: "email", outcome: "failed", n: FAILURES_KEPT },
    { upstream: "email", outcome: "ok", n: POLLS_IN_FILE },
    { upstream: "removed", outcome: "failed", n: 1 },
  ]);
  file.close();
});

test("with a year of history, the rows of one upstream are bounded", async () => {
  await using bench = await StateBench.make();
  const file = new StateFile(bench.path);
  file.open(NOW_MS);
  const upstream = "u".repeat(64);
  const status = pollStatusOf(
    samplePoll({
      outcome: TIMEOUT,
      phasesMs: { dns: 1.123_456, connect: 1.123_456, tls: 1.123_456, wait: 1.123_456, transfer: 1.123_456 },
      detail: "\u4e00".repeat(300),
      excerpt: '"'.repeat(300),
      head: { status: 500, headers: Array.from({ length: 12 }, () => ({ name: "n".repeat(80), bytes: 1 })) },
    }),
  );
  const polls = Array.from({ length: POLLS_IN_FILE }, (_, turn) => ({
    upstream,
    endedAtMs: NOW_MS + turn,
    withinObjective: false,
    watchedMs: 15_000,
    status,
  }));
  const rows = Array.from({ length: INCIDENTS_IN_FILE }, (_, turn) =>
    incidentRow(
      { upstream, state: "down", reason: "timeout", startedAtMs: NOW_MS + turn, endedAtMs: NOW_MS, polls: 3 },
      Array.from({ length: EVIDENCE_POLLS }, () => status),
      NOW_MS,
    ),
  );
  file.write(batchAt(NOW_MS, { polls, rows }));
  const [facts] = bench.query("SELECT max(length(CAST(facts AS BLOB))) AS bytes FROM polls");
  expect(facts?.["bytes"]).toBeLessThanOrEqual(1_000);
  file.close();
  for (const [table, buckets, more] of [
    ["minutes", 2 * 24 * 60, ""],
    ["hours", 400 * 24, ", 40, 60, 40, 60, 50, 40, 30, 20"],
  ]) {
    bench.change(
      `WITH RECURSIVE n(i) AS (SELECT 29000000 UNION ALL SELECT i + 1 FROM n LIMIT ${buckets})
       INSERT INTO ${table} SELECT i, '${upstream}', 240, 200, 40, 40, 40, 200, 3600000, 600000, 12345.678, 1234.5678${more} FROM n`,
    );
  }
  expect(statSync(bench.path).size).toBeLessThanOrEqual(FILE_BYTES_AN_UPSTREAM);
});

test("a failed poll takes at most a kilobyte of disk, with its places in the indexes", async () => {
  await using bench = await StateBench.make();
  const file = new StateFile(bench.path);
  file.open(NOW_MS);
  const phasesMs = {
    dns: 1.123_456,
    connect: 1.123_456,
    tls: 1.123_456,
    wait: 1.123_456,
    transfer: 1.123_456,
  };
  const ids = Array.from({ length: 3 }, () => ({ name: "x-request-id", bytes: 99, value: "7".repeat(99) }));
  const wide = "\u4e00".repeat(300);
  const polls = ["a".repeat(300), '"'.repeat(300), wide].flatMap((text) =>
    Array.from({ length: 400 }, (_, turn) => {
      const head = { status: 500, headers: ids };
      const said = {
        outcome: TIMEOUT,
        phasesMs,
        durationMs: 1_234.123_456,
        detail: text,
        excerpt: text,
        head,
      };
      const status = pollStatusOf(samplePoll({ ...said, id: `mbq1z2x3-${turn}` }));
      return {
        upstream: "email-delivery",
        endedAtMs: NOW_MS + turn,
        withinObjective: false,
        watchedMs: 0,
        status,
      };
    }),
  );
  const before = statSync(bench.path).size;
  file.write(batchAt(NOW_MS, { polls }));
  expect((statSync(bench.path).size - before) / polls.length).toBeLessThanOrEqual(1_000);
  file.close();
});
