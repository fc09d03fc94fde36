import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { inTransaction } from "../../../src/adapters/sqlite/database.ts";
import { readQuotas } from "../../../src/adapters/sqlite/reading.ts";
import { createTables, migrate, newestVersion, versionOf } from "../../../src/adapters/sqlite/schema.ts";
import { quotaRow } from "../../../src/adapters/sqlite/tables.ts";
import { StateWriter } from "../../../src/adapters/sqlite/writing.ts";
import { pollStatusOf } from "../../../src/core/status/status.ts";
import { samplePoll, sampleQuotaRow } from "../../support/samples.ts";

/** A file in which a quota was counted, and that has taken no step. */
function before(): DatabaseSync {
  const database = new DatabaseSync(":memory:");
  onTestFinished(() => database.close());
  createTables(database);
  database.exec(`PRAGMA user_version = ${newestVersion([])}`);
  const rows = [quotaRow(sampleQuotaRow())];
  new StateWriter(database).write({ polls: [], rows });
  return database;
}

const SPENT = "ALTER TABLE quota_hours ADD COLUMN spent REAL NOT NULL DEFAULT 0";
const RENAMED = "ALTER TABLE quota_hours RENAME COLUMN spent TO spent_eur";

describe("a file of an older shape", () => {
  test("takes each step that came since, once and in order, and keeps what is in it", () => {
    const database = before();
    for (const steps of [[SPENT], [SPENT, RENAMED], [SPENT, RENAMED]]) {
      inTransaction(database, () => migrate(database, steps));
      expect(versionOf(database)).toBe(newestVersion(steps));
    }
    expect(database.prepare("SELECT * FROM quota_hours").all()).toEqual([
      { ...quotaRow(sampleQuotaRow()).columns, spent_eur: 0 },
    ]);
    expect(readQuotas(database)).toEqual([sampleQuotaRow()]);
  });

  test("takes several steps at once, or none of them", () => {
    const database = before();
    expect(() => inTransaction(database, () => migrate(database, [SPENT, "NO SUCH STEP"]))).toThrow(/syntax/);
    expect(versionOf(database)).toBe(newestVersion([]));
    inTransaction(database, () => migrate(database, [SPENT, RENAMED]));
    expect(versionOf(database)).toBe(newestVersion([SPENT, RENAMED]));
  });
});

test("hours of an earlier version stay, their minutes unknown; what follows is counted", () => {
  using database = new DatabaseSync(":memory:");
  createTables(database);
  const writer = new StateWriter(database);
  const poll = (endedAtMs: number): void => {
    const status = pollStatusOf(
      samplePoll({ id: `${endedAtMs}`, outcome: { kind: "failed", reason: "timeout" } }),
    );
    writer.write({ polls: [{ upstream: "email", endedAtMs, withinObjective: false, status }], rows: [] });
  };
  poll(0);
  for (const change of ["added", "changed", "forgotten"]) database.exec(`DROP TRIGGER hour_${change}`);
  for (const column of ["offline", "watched_minutes", "all_failed_minutes"])
    database.exec(`ALTER TABLE hours DROP COLUMN ${column}`);
  for (const failures of [1, 2, 3, 4, 5])
    database.exec(`ALTER TABLE hours DROP COLUMN failed_minutes_${failures}`);
  database.exec(
    "ALTER TABLE incidents DROP COLUMN evidence; DROP TABLE notices; DROP TABLE cost_hours; DROP TABLE days; PRAGMA user_version = 9",
  );
  inTransaction(database, () => migrate(database));
  poll(60_000);
  poll(3_600_000);
  const hours = database.prepare("SELECT bucket, failed, watched_minutes, failed_minutes_1 FROM hours").all();
  expect(hours).toEqual([
    { bucket: 0, failed: 2, watched_minutes: null, failed_minutes_1: null },
    { bucket: 1, failed: 1, watched_minutes: 1, failed_minutes_1: 1 },
  ]);
  expect(database.prepare("SELECT evidence FROM incidents").all()).toEqual([]);
  expect(database.prepare("SELECT units FROM cost_hours").all()).toEqual([]);
});

test("a new file has the newest shape, and needs no step", () => {
  using database = new DatabaseSync(":memory:");
  createTables(database);
  expect(versionOf(database)).toBe(newestVersion());
  inTransaction(database, () => migrate(database));
  expect(versionOf(database)).toBe(newestVersion());
});
