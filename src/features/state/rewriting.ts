import { existsSync } from "node:fs";
import type { Note } from "../../kernel/text/notes.ts";
import { Completeness } from "./completeness.ts";
import { isEmpty, makeWritable, openDatabase } from "./database.ts";
import { readNotes } from "./reading.ts";
import { noteRow } from "./tables.ts";
import { troubleOf } from "./trouble.ts";
import { StateWriter } from "./writing.ts";

/** `isLoss`: these are not all that there was. */
type Change = (notes: readonly Note[], isLoss: boolean) => readonly Note[];

/** Replaces notes while nobody has the file open. Returns why it cannot; undefined if it is done. */
export function rewriteNotes(path: string, change: Change): string | undefined {
  if (!existsSync(path)) return `there is no state file "${path}"`;
  try {
    using database = openDatabase(path);
    // A process that was killed as it began the file leaves an empty one: nobody knows what was noted before.
    const isUnknown = isEmpty(database);
    makeWritable(database);
    const completeness = new Completeness(path);
    const notes = change(readNotes(database), isUnknown || completeness.isComplete === false);
    new StateWriter(database).write({ polls: [], rows: notes.map(noteRow) });
    completeness.tell(true);
    return undefined;
  } catch (error) {
    return `the state file "${path}" ${troubleOf(error).says}: stop pacewatch first`;
  }
}
