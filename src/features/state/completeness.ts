import { closeSync, constants, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";

/** They have the same length: on a full disk bytes can be replaced, and none added. */
const [COMPLETE, INCOMPLETE] = ["complete  \n", "incomplete\n"] as const;

/**
 * A small file beside the state file says whether all that was counted is in the state file. So a start notices that
 * the state file was deleted, or that a process ended while it could not be written.
 */
export class Completeness {
  readonly #path: string;
  #told: boolean | undefined;

  constructor(statePath: string) {
    this.#path = `${statePath}.complete`;
  }

  /** Undefined where nothing was ever written. */
  get isComplete(): boolean | undefined {
    try {
      return readFileSync(this.#path, "latin1") === COMPLETE;
    } catch {
      return undefined;
    }
  }

  /** Returns whether it is told. */
  tell(isComplete: boolean): boolean {
    // Somebody may have deleted it since.
    if (this.#told === isComplete && this.isComplete === isComplete) return true;
    try {
      const file = openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
      try {
        writeSync(file, isComplete ? COMPLETE : INCOMPLETE, 0);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      this.#told = isComplete;
      return true;
    } catch {
      // A disk that refuses even this is in trouble that was told already.
      return false;
    }
  }
}
