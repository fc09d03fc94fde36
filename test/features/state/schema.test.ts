import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { inTransaction } from "../../../src/features/state/database.ts";
import { readQuotas } from "../../../src/features/state/reading.ts";
import { createTables, migrate, newestVersion, versionOf } from "../../../src/features/state/schema.ts";
import { quotaRow } from "../../../src/features/state/tables.ts";
import { StateWriter } from "../../../src/features/state/writing.ts";
import { sampleQuotaRow } from "../../support/samples.ts";
import { StateBench, stateErrors } from "./bench.ts";
import { COUNTED } from "./damage.ts";

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
    expect(readQuotas(database).rows).toEqual([sampleQuotaRow()]);
  });

  test("takes several steps at once, or none of them", () => {
    const database = before();
    expect(() => inTransaction(database, () => migrate(database, [SPENT, "NO SUCH STEP"]))).toThrow(/syntax/);
    expect(versionOf(database)).toBe(newestVersion([]));
    inTransaction(database, () => migrate(database, [SPENT, RENAMED]));
    expect(versionOf(database)).toBe(newestVersion([SPENT, RENAMED]));
  });
});

test("a file of a version that never was is moved aside, and its quotas are kept", async () => {
  await using bench = await StateBench.make();
  const store = await bench.open();
  void store.write([{ kind: "quota", row: COUNTED }]);
  await store.close();
  bench.change("DROP TABLE notifications; PRAGMA user_version = 0");
  expect((await bench.open()).standing.quotas.rows).toEqual([COUNTED]);
  expect(stateErrors(bench)).toEqual([
    expect.stringMatching(/^the state file is of a version that never was: it was moved to ".*-1"/),
  ]);
});

test("a new file has the newest shape, and needs no step", () => {
  using database = new DatabaseSync(":memory:");
  createTables(database);
  expect(versionOf(database)).toBe(newestVersion());
  inTransaction(database, () => migrate(database));
  expect(versionOf(database)).toBe(newestVersion());
});
