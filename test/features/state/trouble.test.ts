import { expect, test } from "vitest";
import { StateFileError, troubleOf } from "../../../src/features/state/trouble.ts";

/** As node:sqlite throws them. */
function sqliteError(errcode: number): Error {
  return Object.assign(new Error("it failed"), { code: "ERR_SQLITE_ERROR", errcode });
}

test.each([
  [1, "damaged", "is damaged"],
  [5, "locked", "is locked by another program"],
  [6, "locked", "is locked by another program"],
  [8, "read-only", "is read-only"],
  [10, "failing", "cannot be read or written (an I/O error)"],
  [11, "damaged", "is damaged"],
  [13, "full", "is on a disk that is full"],
  [14, "unopenable", "cannot be opened"],
  [26, "damaged", "is not a database"],
])("SQLite's result %i is %s: the file %s", (code, kind, says) => {
  expect(troubleOf(sqliteError(code))).toEqual({ kind, says });
});

test("an extended result is that of its primary one", () => {
  // SQLITE_IOERR_READ.
  expect(troubleOf(sqliteError(266)).kind).toBe("failing");
});

test("what the file system refuses is told in its words", () => {
  const refused = Object.assign(new Error("EACCES: permission denied, rename"), { syscall: "rename" });
  expect(troubleOf(refused)).toEqual({
    kind: "failing",
    says: "fails (EACCES: permission denied, rename)",
  });
});

test("what we found ourselves is told as we found it", () => {
  expect(troubleOf(new StateFileError("moved", "was moved"))).toEqual({ kind: "moved", says: "was moved" });
});

test.each([new TypeError("ours"), sqliteError(21)])("a bug stays a bug: %s", (bug) => {
  expect(() => troubleOf(bug)).toThrow(bug);
});
