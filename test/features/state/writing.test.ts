import { DatabaseSync } from "node:sqlite";
import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { createTables } from "../../../src/features/state/schema.ts";
import { noteRow } from "../../../src/features/state/tables.ts";
import { StateWriter } from "../../../src/features/state/writing.ts";
import { outcomeOf, type PollOutcome } from "../../../src/kernel/exchange/outcome.ts";
import type { SavedPoll } from "../../../src/features/history/state.ts";
import { samplePoll } from "../../support/kernel-samples.ts";
import { sampleQuotaNote } from "../../support/samples.ts";
import { pollStatusOf } from "../../../src/features/history/kept-poll.ts";

type Row = Readonly<Record<string, unknown>>;

function scene(): { readonly writer: StateWriter; readonly query: (sql: string) => readonly Row[] } {
  const database = new DatabaseSync(":memory:");
  onTestFinished(() => database.close());
  createTables(database);
  return { writer: new StateWriter(database), query: (sql) => database.prepare(sql).all() };
}

function saved(endedAtMs: number, outcome: PollOutcome, durationMs = 100, upstream = "email"): SavedPoll {
  const withinObjective = outcome.kind === "ok" && durationMs <= 150;
  const status = pollStatusOf(samplePoll({ id: `${upstream} ${endedAtMs}`, outcome, durationMs }));
  const watchedMs = outcome.kind === "ok" || outcome.kind === "failed" ? 15_000 : 0;
  return { upstream, endedAtMs, withinObjective, watchedMs, status };
}

const OK: PollOutcome = { kind: "ok", reason: "" };
const TIMEOUT: PollOutcome = { kind: "failed", reason: "timeout" };

const THROTTLED: PollOutcome = { kind: "throttled", reason: "rate" };
const OFFLINE: PollOutcome = { kind: "ours", reason: "offline" };

describe("the minutes of an hour", () => {
  test("are watched with a poll that was ok or failed, and are counted by how many failed", () => {
    const { writer, query } = scene();
    const minutes = [
      [OK, OK, TIMEOUT],
      [TIMEOUT, TIMEOUT, TIMEOUT, TIMEOUT, TIMEOUT, TIMEOUT],
      [TIMEOUT, OK, TIMEOUT],
      [THROTTLED, TIMEOUT, OFFLINE],
      [THROTTLED, OFFLINE],
      [OK],
    ];
    const polls = minutes.flatMap((outcomes, minute) =>
      outcomes.map((outcome, turn) => saved(minute * 60_000 + turn, outcome)),
    );
    // However the polls come together in batches.
    for (const poll of polls) writer.write({ polls: [poll], rows: [] });
    expect(query(`SELECT ${COUNTED} FROM hours`)).toEqual([
      { offline: 2, watched: 5, allFailed: 2, f1: 4, f2: 2, f3: 1, f4: 1, f5: 1 },
    ]);
  });

  test("are as anybody would count them, however polls end", () => {
    const outcomes = constantFrom(OK, TIMEOUT, THROTTLED, OFFLINE);
    const polls = array(record({ minute: integer({ min: 0, max: 5 }), outcome: outcomes }));
    assert(
      property(polls, (given) => {
        using database = new DatabaseSync(":memory:");
        createTables(database);
        const all = given.map(({ minute, outcome }, turn) => saved(minute * 60_000 + turn, outcome));
        new StateWriter(database).write({ polls: all, rows: [] });
        const minutes = [...Map.groupBy(given, ({ minute }) => minute).values()].map((those) => ({
          ok: those.filter(({ outcome }) => outcome === OK).length,
          failed: those.filter(({ outcome }) => outcome === TIMEOUT).length,
        }));
        const count = (is: (of: { ok: number; failed: number }) => boolean): number =>
          minutes.filter(is).length;
        expect(database.prepare(`SELECT ${COUNTED} FROM hours`).get()).toEqual(
          given.length === 0
            ? undefined
            : {
                offline: given.filter(({ outcome }) => outcome === OFFLINE).length,
                watched: count(({ ok, failed }) => ok + failed > 0),
                allFailed: count(({ ok, failed }) => ok === 0 && failed > 0),
                f1: count(({ failed }) => failed >= 1),
                f2: count(({ failed }) => failed >= 2),
                f3: count(({ failed }) => failed >= 3),
                f4: count(({ failed }) => failed >= 4),
                f5: count(({ failed }) => failed >= 5),
              },
        );
      }),
    );
  });
});

const COUNTED = `offline, watched_minutes AS watched, all_failed_minutes AS allFailed, failed_minutes_1 AS f1,
  failed_minutes_2 AS f2, failed_minutes_3 AS f3, failed_minutes_4 AS f4, failed_minutes_5 AS f5`;

describe("roll-ups", () => {
  test("count polls by upstream, and by the minute and the hour that they ended in", () => {
    const { writer, query } = scene();
    const polls = [
      saved(59_999, OK),
      saved(60_000, OK),
      saved(60_001, OK, 100, "ai-router"),
      saved(119_999, OK),
    ];
    for (const poll of polls) writer.write({ polls: [poll], rows: [] });
    expect(query("SELECT upstream, bucket, polls FROM minutes ORDER BY bucket, polls DESC")).toEqual([
      { upstream: "email", bucket: 0, polls: 1 },
      { upstream: "email", bucket: 1, polls: 2 },
      { upstream: "ai-router", bucket: 1, polls: 1 },
    ]);
    expect(query("SELECT upstream, bucket, polls FROM hours ORDER BY polls")).toEqual([
      { upstream: "ai-router", bucket: 0, polls: 1 },
      { upstream: "email", bucket: 0, polls: 3 },
    ]);
  });

  test("keep apart what is theirs, what is ours and what is throttled; time is that of what was ok", () => {
    const { writer, query } = scene();
    const polls = [
      saved(1, OK, 300),
      saved(2, OK, 100),
      saved(3, TIMEOUT, 10_000),
      saved(4, { kind: "rejected", reason: "unauthorized" }, 50),
      saved(5, { kind: "throttled", reason: "rate" }, 20),
    ];
    writer.write({ polls, rows: [] });
    expect(query("SELECT * FROM hours")).toEqual([
      {
        upstream: "email",
        bucket: 0,
        polls: 5,
        ok: 2,
        failed: 1,
        throttled: 1,
        within_objective: 1,
        watched_ms: 45_000,
        failed_ms: 15_000,
        offline: 0,
        watched_minutes: 1,
        all_failed_minutes: 0,
        failed_minutes_1: 1,
        failed_minutes_2: 0,
        failed_minutes_3: 0,
        failed_minutes_4: 0,
        failed_minutes_5: 0,
        ok_duration_ms: 400,
        slowest_ok_ms: 300,
        rejected: 1,
      },
    ]);
  });

  test("have as failed what is theirs, and neither what they reject nor what is ours", () => {
    const { writer, query } = scene();
    const reasons = ["timeout", "unauthorized", "offline", "bug", "rate"] as const;
    writer.write({
      polls: [OK, ...reasons.map(outcomeOf)].map((outcome, at) => saved(at, outcome)),
      rows: [],
    });
    for (const table of ["minutes", "hours"]) {
      expect(query(`SELECT polls, ok, failed, throttled FROM ${table}`)).toEqual([
        { polls: 6, ok: 1, failed: 1, throttled: 1 },
      ]);
    }
  });
});

test("a row replaces the one with its key", () => {
  const { writer, query } = scene();
  const notes = [sampleQuotaNote({ requests: 5, unconfirmed: 1 }), sampleQuotaNote({ requests: 4 })];
  writer.write({ polls: [], rows: notes.map(noteRow) });
  expect(query("SELECT json FROM notes")).toEqual([{ json: "[[1,4,0]]" }]);
});

test("a batch that cannot be written completely leaves nothing", () => {
  const { writer, query } = scene();
  const row = noteRow(sampleQuotaNote());
  const rows = [{ ...row, columns: { ...row.columns, checksum: 0.5 } }];
  expect(() => writer.write({ polls: [saved(1, OK)], rows })).toThrow(/cannot store REAL/);
  expect([query("SELECT * FROM polls"), query("SELECT * FROM hours")]).toEqual([[], []]);
  writer.write({ polls: [saved(1, OK)], rows: [] });
  expect(query("SELECT polls FROM hours")).toEqual([{ polls: 1 }]);
});
