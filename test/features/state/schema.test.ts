import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { inTransaction } from "../../../src/features/state/database.ts";
import { readNotes } from "../../../src/features/state/reading.ts";
import { createTables, migrate, newestVersion, versionOf } from "../../../src/features/state/schema.ts";
import { noteRow } from "../../../src/features/state/tables.ts";
import { StateWriter } from "../../../src/features/state/writing.ts";
import { sampleQuotaNote, sampleQuotaRow } from "../../support/samples.ts";
import { quotasKept } from "../../support/kept-quotas.ts";
import { StateBench, stateErrors } from "./bench.ts";
import { COUNTED } from "./damage.ts";

/** A file in which a quota was counted, and that has taken no step. */
function before(): DatabaseSync {
  const database = new DatabaseSync(":memory:");
  onTestFinished(() => database.close());
  createTables(database);
  database.exec(`PRAGMA user_version = ${newestVersion([])}`);
  const rows = [noteRow(sampleQuotaNote())];
  new StateWriter(database).write({ polls: [], rows });
  return database;
}

const SPENT = "ALTER TABLE notes ADD COLUMN spent REAL NOT NULL DEFAULT 0";
const RENAMED = "ALTER TABLE notes RENAME COLUMN spent TO spent_eur";

describe("a file of an older shape", () => {
  test("takes each step that came since, once and in order, and keeps what is in it", () => {
    const database = before();
    for (const steps of [[SPENT], [SPENT, RENAMED], [SPENT, RENAMED]]) {
      inTransaction(database, () => migrate(database, steps));
      expect(versionOf(database)).toBe(newestVersion(steps));
    }
    expect(database.prepare("SELECT * FROM notes").all()).toEqual([
      { ...noteRow(sampleQuotaNote()).columns, spent_eur: 0 },
    ]);
    expect(quotasKept({ notes: readNotes(database) }).rows).toEqual([sampleQuotaRow()]);
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
  void store.write([sampleQuotaNote(COUNTED)]);
  await store.close();
  bench.change("DROP TABLE value_hours; PRAGMA user_version = 0");
  expect(quotasKept(await bench.open()).rows).toEqual([COUNTED]);
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
