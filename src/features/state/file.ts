import type { ColumnsQuestion } from "../history/state.ts";
import type { Columns } from "../history/timeline.ts";
import { DatabaseSync } from "node:sqlite";
import type { Note } from "../../kernel/text/notes.ts";
import { Completeness } from "./completeness.ts";
import { isEmpty, makeWritable, openDatabase, requireSound } from "./database.ts";
import type { OpenReply, Restored, StateBatch, Trouble, WriteReply } from "./messages.ts";
import {
  headerOf,
  inodeOf,
  lastMovedAsideMs,
  makePrivate,
  moveAside,
  moveBack,
  requirePlace,
} from "./place.ts";
import { readColumns } from "./columns.ts";
import { readNotes, readState, salvageNotes } from "./reading.ts";
import { Upkeep } from "./retention.ts";
import { APPLICATION_ID } from "./schema.ts";
import { noteRow } from "./tables.ts";
import { StateFileError, troubleOf } from "./trouble.ts";
import { StateWriter } from "./writing.ts";

type Connection = {
  readonly database: DatabaseSync;
  readonly inode: number | undefined;
  readonly found: "new" | "kept" | "damaged";
  /** Handed over once: history may be large. */
  restored: Restored;
  /** Its notes are not all that there was. */
  readonly isLoss: boolean;
  /** Undefined until the first write: on a full disk, the file can be read and is locked, and no more. */
  writing: { readonly writer: StateWriter; readonly upkeep: Upkeep } | undefined;
  /** Why it could not be written when it was opened. */
  trouble: string | undefined;
};

const NOTHING: Restored = { upstreams: new Map(), notes: [], writtenAtMs: undefined };

/** After trouble, the first batch brings all that was kept meanwhile, the second what came during the first. */
const WHOLE_AFTER_BATCHES = 2;

/** One state file, from the first opening to the last closing. It recovers from whatever happens to the file. */
export class StateFile {
  readonly #path: string;
  readonly #completeness: Completeness;
  #connection: Connection | undefined;
  /** So many batches must be written until the file has all again. */
  #incompleteFor = 0;
  /** Trouble that came after a batch was written: the next one reports it. */
  #lateError: unknown;
  /** A file that turned out to be damaged as it was written: it may look sound where it is only read. */
  #damaged: { readonly inode: number | undefined; readonly says: string } | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#completeness = new Completeness(path);
  }

  /** Refused unless it can be read and written. If only writing fails for now, it opens and says why. */
  open(nowMs: number): OpenReply {
    const notes: string[] = [];
    try {
      requirePlace(this.#path);
      const connection = (this.#connection = this.#connect(notes, nowMs, LOST));
      const { found, restored, trouble } = connection;
      connection.restored = NOTHING;
      const lacks = this.#lacks(connection);
      if (lacks) notes.push(`the state file ${found === "new" ? WAS_REMOVED : LACKS}: ${COUNTS_AS_USED}`);
      const isLoss = connection.isLoss || lacks;
      // Until what counts in their place is in the file, the next start must know it too.
      const isNoted = (isLoss || trouble !== undefined) && this.#lack();
      if (!isLoss && trouble === undefined) this.#completeness.tell(true);
      return {
        kind: "opened",
        restored,
        isLoss,
        lostAtMs: lacks ? nowMs : lastMovedAsideMs(this.#path),
        trouble: trouble === undefined ? undefined : { says: trouble, isNoted },
        notes,
      };
    } catch (error) {
      this.close();
      return { kind: "refused", faults: [this.#refusalOf(error)] };
    }
  }

  write(batch: StateBatch): WriteReply {
    const notes: string[] = [];
    try {
      const late = this.#lateError;
      this.#lateError = undefined;
      if (late !== undefined) throw late;
      // Also after the thread of before died: requests went on meanwhile.
      if (this.#connection === undefined) this.#lack();
      const connection = (this.#connection ??= this.#connect(notes, batch.nowMs, KNOWN));
      if (inodeOf(this.#path) !== connection.inode)
        throw new StateFileError("moved", "was moved, replaced or removed");
      writingOf(connection).writer.write(batch);
    } catch (error) {
      return { kind: "failed", trouble: this.#fail(error), notes };
    }
    if (this.#incompleteFor > 0) {
      this.#incompleteFor -= 1;
      if (this.#incompleteFor === 0) this.#completeness.tell(true);
    }
    this.#tidy(batch.nowMs);
    return { kind: "written", notes };
  }

  /** Undefined where it cannot be read now: the next write says why. */
  columns(question: ColumnsQuestion): Columns | undefined {
    try {
      return this.#connection && readColumns(this.#connection.database, question);
    } catch (error) {
      troubleOf(error);
      return undefined;
    }
  }

  close(): void {
    this.#connection?.database.close();
    this.#connection = undefined;
  }

  /**
   * A damaged file is moved aside, and a new one begun: but only a file that was ours by its header. By mistake,
   * `state.path` may be the path of anything.
   */
  #connect(notes: string[], nowMs: number, unreadable: typeof LOST | typeof KNOWN): Connection {
    const isNew = makePrivate(this.#path);
    const damaged = this.#damaged;
    this.#damaged = undefined;
    try {
      if (damaged !== undefined && damaged.inode === inodeOf(this.#path))
        throw new StateFileError("damaged", damaged.says);
      return this.#read(isNew, nowMs, unreadable);
    } catch (error) {
      const { kind, says } = troubleOf(error);
      if (kind !== "damaged") throw error;
      const header = headerOf(this.#path);
      if (header?.isDatabase === false) throw new StateFileError("foreign", "is not a database");
      if (header !== undefined && header.applicationId !== APPLICATION_ID) {
        throw new StateFileError("foreign", `${says}, and its header does not say that pacewatch wrote it`);
      }
      const { notes: salvaged, isComplete } = salvageNotes(this.#path);
      const isKnown = (isComplete && this.#completeness.isComplete !== false) || unreadable === KNOWN;
      const aside = asideOf(this.#path, says);
      const connection = this.#beginAnew(salvaged, aside, nowMs);
      notes.push(
        `the state file ${says}: it was moved to "${aside}", ${isKnown ? ONLY_HISTORY : QUOTAS_TOO}`,
      );
      return { ...connection, isLoss: !isKnown };
    }
  }

  /** A file that cannot be written now is read all the same: at the start all of it, later only what must be whole. */
  #read(isNew: boolean, nowMs: number, unreadable: typeof LOST | typeof KNOWN): Connection {
    const database = openDatabase(this.#path);
    try {
      const hasRows = !isEmpty(database);
      // We never leave an empty one, but where we were killed at the first start.
      if (!hasRows && !isNew) throw new StateFileError("damaged", "is empty");
      if (hasRows) requireSound(database);
      if (hasRows && unreadable === KNOWN) readNotes(database);
      const restored = hasRows && unreadable === LOST ? readState(database, nowMs) : NOTHING;
      const found = isNew ? "new" : "kept";
      const inode = inodeOf(this.#path);
      const connection: Connection = {
        database,
        inode,
        found,
        restored,
        isLoss: false,
        writing: undefined,
        trouble: undefined,
      };
      beginWriting(connection);
      return connection;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Where it cannot be, what was moved aside goes back: an empty file would be in its place, and count as damaged too. */
  #beginAnew(salvaged: readonly Note[], aside: string, nowMs: number): Connection {
    let connection: Connection | undefined;
    try {
      connection = this.#read(makePrivate(this.#path), nowMs, KNOWN);
      writingOf(connection).writer.write({ polls: [], rows: salvaged.map(noteRow) });
    } catch (error) {
      connection?.database.close();
      moveBack(aside);
      throw error;
    }
    return { ...connection, found: "damaged", restored: { ...NOTHING, notes: salvaged } };
  }

  /** Whether requests were counted that are not in it. What was damaged is known to be so already. */
  #lacks({ found }: Connection): boolean {
    const { isComplete } = this.#completeness;
    return isComplete !== undefined && (found === "new" || (found === "kept" && !isComplete));
  }

  #lack(): boolean {
    this.#incompleteFor = WHOLE_AFTER_BATCHES;
    return this.#completeness.tell(false);
  }

  /** The batch is written already. What could not be forgotten on a full disk is forgotten later. */
  #tidy(nowMs: number): void {
    try {
      this.#connection?.writing?.upkeep.tidy(nowMs);
    } catch (error) {
      if (troubleOf(error).kind !== "full") this.#lateError = error;
    }
  }

  /** On a full disk the file stays open: nobody else may take it meanwhile. */
  #fail(error: unknown): Trouble {
    const isNoted = this.#lack();
    const { kind, says } = troubleOf(error);
    if (kind === "damaged" && this.#connection !== undefined)
      this.#damaged = { inode: this.#connection.inode, says };
    if (kind !== "full") this.close();
    return { says, isNoted };
  }

  #refusalOf(error: unknown): string {
    const must = `must be a file that can be read and written, received one that ${troubleOf(error).says}`;
    return `cannot keep state: "${this.#path}" ${must}`;
  }
}

function asideOf(path: string, says: string): string {
  try {
    return moveAside(path);
  } catch (error) {
    throw new StateFileError("damaged", `${says}, and cannot be moved aside: it ${troubleOf(error).says}`);
  }
}

/** Notes that cannot be read from a damaged file: at the start nobody knows them, later the main thread writes them again. */
const [LOST, KNOWN] = ["lost", "known"] as const;

const ONLY_HISTORY = "starting with empty history";
const COUNTS_AS_USED =
  "what is not known of quotas counts as used; to say what was used, stop pacewatch and run: pacewatch quota BUDGET --used N";
const WAS_REMOVED = "was removed";
const LACKS = "lacks what was counted while it could not be written";
const QUOTAS_TOO = `${ONLY_HISTORY}, and ${COUNTS_AS_USED}`;

function beginWriting(connection: Connection): void {
  try {
    writingOf(connection);
  } catch (error) {
    const { kind, says } = troubleOf(error);
    if (kind !== "full" && kind !== "failing") throw error;
    connection.trouble = says;
  }
}

function writingOf(connection: Connection): NonNullable<Connection["writing"]> {
  if (connection.writing !== undefined) return connection.writing;
  const { database } = connection;
  makeWritable(database);
  return (connection.writing = { writer: new StateWriter(database), upkeep: new Upkeep(database) });
}
