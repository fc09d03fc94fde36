/** A state file may fail in these ways, each told in words. */

export type Trouble = {
  readonly kind: "locked" | "full" | "read-only" | "unopenable" | "failing" | "damaged" | "moved" | "foreign";
  /** Continues a sentence after the path: `"x.db" is …`. */
  readonly says: string;
};

/** A fault that SQLite itself does not detect. */
export class StateFileError extends Error {
  readonly trouble: Trouble;

  constructor(kind: Trouble["kind"], says: string) {
    super(says);
    this.trouble = { kind, says };
  }
}

const DAMAGED: Trouble = { kind: "damaged", says: "is damaged" };
const LOCKED: Trouble = { kind: "locked", says: "is locked by another program" };

/** By SQLite's primary result codes. Any other code is our own bug. */
const TROUBLES: ReadonlyMap<number, Trouble> = new Map<number, Trouble>([
  // Our statements are correct, so a table must be wrong.
  [1, DAMAGED],
  [5, LOCKED],
  [6, LOCKED],
  [8, { kind: "read-only", says: "is read-only" }],
  [10, { kind: "failing", says: "cannot be read or written (an I/O error)" }],
  [11, DAMAGED],
  [13, { kind: "full", says: "is on a disk that is full" }],
  [14, { kind: "unopenable", says: "cannot be opened" }],
  [26, { kind: "damaged", says: "is not a database" }],
]);

/** Rethrows any error that is not of SQLite or the file system. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof StateFileError) return error.trouble;
  // A number that pacewatch never wrote: no double holds it.
  if (error instanceof RangeError && "code" in error && error.code === "ERR_OUT_OF_RANGE") return DAMAGED;
  // The file system refused, as where a damaged file may not be moved.
  if (error instanceof Error && "syscall" in error)
    return { kind: "failing", says: `fails (${error.message})` };
  // The lowest byte of an extended result code is its primary one.
  const trouble = TROUBLES.get(resultCodeOf(error) & 0xff);
  if (trouble === undefined) throw error;
  return trouble;
}

function resultCodeOf(error: unknown): number {
  if (typeof error !== "object" || error === null || !("errcode" in error)) return 0;
  return typeof error.errcode === "number" ? error.errcode : 0;
}
