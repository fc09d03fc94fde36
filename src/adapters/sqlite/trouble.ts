/** Where a state file fails, and how to say it. */

export type Trouble = {
  readonly kind: "locked" | "full" | "read-only" | "unopenable" | "failing" | "damaged" | "moved" | "foreign";
  /** Goes on from the path: `"x.db" is …`. */
  readonly says: string;
};

/** What SQLite itself does not notice about a file. */
export class StateFileError extends Error {
  readonly trouble: Trouble;

  constructor(kind: Trouble["kind"], says: string) {
    super(says);
    this.trouble = { kind, says };
  }
}

const FULL: Trouble = { kind: "full", says: "is on a disk that is full" };
const LOCKED: Trouble = { kind: "locked", says: "is locked by another program" };

/** By result code, the primary one where the extended one is not here. What is not here at all is our own bug. */
const TROUBLES: ReadonlyMap<number, Trouble> = new Map<number, Trouble>([
  // Our own statements are right: so a table is not what it must be.
  [1, { kind: "damaged", says: "is damaged" }],
  [5, LOCKED],
  [6, LOCKED],
  [8, { kind: "read-only", says: "is read-only" }],
  [10, { kind: "failing", says: "cannot be read or written (an I/O error)" }],
  [11, { kind: "damaged", says: "is damaged" }],
  [13, FULL],
  [14, { kind: "unopenable", says: "cannot be opened" }],
  [26, { kind: "damaged", says: "is not a database" }],
  // The memory that is shared beside the file could not be made as large as it must be.
  [4_874, FULL],
]);

/** Throws what is neither SQLite's nor the file's doing. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof StateFileError) return error.trouble;
  // Of the file system: a damaged file that may not be moved, a folder that may not be looked into.
  if (error instanceof Error && "syscall" in error)
    return { kind: "failing", says: `fails (${error.message})` };
  const code = resultCodeOf(error);
  const trouble = TROUBLES.get(code) ?? TROUBLES.get(code & 0xff);
  if (trouble === undefined) throw error;
  return trouble;
}

function resultCodeOf(error: unknown): number {
  if (typeof error !== "object" || error === null || !("errcode" in error)) return 0;
  return typeof error.errcode === "number" ? error.errcode : 0;
}
