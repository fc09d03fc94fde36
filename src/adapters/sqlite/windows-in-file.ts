import { DatabaseSync } from "node:sqlite";
import type { LearnedWindow } from "../../core/budget/learned-windows.ts";
import { readWindows } from "./reading.ts";

/** Reads beside a daemon what it has learned: nothing where there is no such file, or none that can be read. */
export function windowsInFile(path: string): ReadonlyMap<string, readonly LearnedWindow[]> {
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    return readWindows(database);
  } catch {
    return new Map();
  }
}
