import { DatabaseSync } from "node:sqlite";
import { StateFileError, troubleOf } from "./sqlite-trouble.ts";

/** The one before may still be letting go. */
const WAIT_MS = 1_000;

/**
 * One process for one state file, by an empty database beside it that is held locked. The kernel lets go of it
 * with the process, however that ends; and the state file itself stays readable for others.
 */
export class StateLock {
  readonly #database: DatabaseSync;

  constructor(path: string) {
    this.#database = new DatabaseSync(`${path}.lock`, { timeout: WAIT_MS });
    try {
      // A journal on the disk would need room there.
      this.#database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    } catch (error) {
      this.#database.close();
      if (troubleOf(error).kind !== "locked") throw error;
      throw new StateFileError("locked", "is in use by another pacewatch");
    }
  }

  release(): void {
    this.#database.close();
  }
}
