import type { ColumnsQuestion } from "../../core/history/state.ts";
import type { Columns } from "../../core/status/timeline.ts";
import { DatabaseSync } from "node:sqlite";
import { NOBODY_KNOWS, type QuotaRow } from "../../core/budget/quota.ts";
import { ANY_BUDGET } from "../../core/budget/quotas.ts";
import { hourOf } from "../../core/time/duration.ts";
import { isEmpty, makeWritable, openDatabase, requireSound } from "./database.ts";
import type { OpenReply, Restored, StateBatch, WriteReply } from "./messages.ts";
import {
  headerOf,
  inodeOf,
  lastMovedAsideMs,
  makePrivate,
  moveAside,
  PlaceError,
  requirePlace,
} from "./place.ts";
import { readColumns } from "./columns.ts";
import { readState, salvageQuotas } from "./reading.ts";
import { cutLongPolls, Upkeep } from "./retention.ts";
import { APPLICATION_ID } from "./schema.ts";
import { quotaRow } from "./tables.ts";
import { StateFileError, troubleOf } from "./trouble.ts";
import { StateWriter } from "./writing.ts";

type Connection = {
  readonly database: DatabaseSync;
  readonly inode: number | undefined;
  readonly restored: Restored;
  /** Undefined until the first write: on a full disk, the file can be read and is locked, and no more. */
  writing: { readonly writer: StateWriter; readonly upkeep: Upkeep } | undefined;
};

const NOTHING: Restored = {
  upstreams: new Map(),
  standing: { quotas: [], budgets: new Map(), pauses: new Map() },
  writtenAtMs: undefined,
};

/** One state file, from the first opening to the last closing. It recovers from whatever happens to the file. */
export class StateFile {
  readonly #path: string;
  #connection: Connection | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Refused unless it can be read and written. If only writing fails for now, it opens and says why. */
  open(nowMs: number): OpenReply {
    const notes: string[] = [];
    try {
      requirePlace(this.#path);
      const connection = (this.#connection = this.#connect(notes, nowMs, LOST));
      const { restored } = connection;
      const lostAtMs = lastMovedAsideMs(this.#path);
      const trouble = this.#begin(connection, notes);
      return { kind: "opened", restored, lostAtMs, trouble, notes };
    } catch (error) {
      this.close();
      return { kind: "refused", message: this.#refusalOf(error) };
    }
  }

  write(batch: StateBatch): WriteReply {
    const notes: string[] = [];
    try {
      const connection = (this.#connection ??= this.#connect(notes, batch.nowMs, KNOWN));
      if (inodeOf(this.#path) !== connection.inode)
        throw new StateFileError("moved", "was moved, replaced or removed");
      writingOf(connection, notes).writer.write(batch);
    } catch (error) {
      return { kind: "failed", trouble: this.#fail(error), notes };
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
    try {
      return this.#read(isNew, nowMs);
    } catch (error) {
      const { kind, says } = troubleOf(error);
      if (kind !== "damaged") throw error;
      const header = headerOf(this.#path);
      if (header?.isDatabase === false) throw new StateFileError("foreign", "is not a database");
      if (header !== undefined && header.applicationId !== APPLICATION_ID) {
        throw new StateFileError("foreign", `${says}, and its header does not say that pacewatch wrote it`);
      }
      const { rows, isComplete } = salvageQuotas(this.#path);
      const isKnown = isComplete || unreadable === KNOWN;
      const aside = asideOf(this.#path, says);
      notes.push(
        `the state file ${says}: it was moved to "${aside}", ${isKnown ? ONLY_HISTORY : QUOTAS_TOO}`,
      );
      return this.#beginAnew(isKnown ? rows : [...rows, allUsedAt(nowMs)], nowMs);
    }
  }

  /** Before the first write, so that a file that cannot be written now is read all the same. */
  #read(isNew: boolean, nowMs: number): Connection {
    const database = openDatabase(this.#path);
    try {
      const hasRows = !isEmpty(database);
      // We never leave an empty one, but where we were killed at the first start.
      if (!hasRows && !isNew) throw new StateFileError("damaged", "is empty");
      if (hasRows) requireSound(database);
      const restored = hasRows ? readState(database, nowMs) : NOTHING;
      return { database, inode: inodeOf(this.#path), restored, writing: undefined };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #beginAnew(quotas: readonly QuotaRow[], nowMs: number): Connection {
    const connection = this.#read(makePrivate(this.#path), nowMs);
    writingOf(connection, []).writer.write({ polls: [], rows: quotas.map(quotaRow) });
    return { ...connection, restored: { ...NOTHING, standing: { ...NOTHING.standing, quotas } } };
  }

  /** Returns why it cannot be written now. */
  #begin(connection: Connection, notes: string[]): string | undefined {
    try {
      writingOf(connection, notes);
      const cut = cutLongPolls(connection.database);
      if (cut > 0) notes.push(`the state file kept too much of answers: ${cut} polls of it were cut`);
      return undefined;
    } catch (error) {
      const { kind, says } = troubleOf(error);
      if (kind !== "full" && kind !== "failing") throw error;
      return says;
    }
  }

  /** The batch is written already: a failure here is reported with the next one. */
  #tidy(nowMs: number): void {
    try {
      this.#connection?.writing?.upkeep.tidy(nowMs);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** On a full disk the file stays open: nobody else may take it meanwhile. */
  #fail(error: unknown): string {
    const { kind, says } = troubleOf(error);
    if (kind !== "full") this.close();
    return says;
  }

  #refusalOf(error: unknown): string {
    const must =
      error instanceof PlaceError
        ? error.message
        : `a file that can be read and written, received one that ${troubleOf(error).says}`;
    return `cannot keep state: "${this.#path}" must be ${must}`;
  }
}

function asideOf(path: string, says: string): string {
  try {
    return moveAside(path);
  } catch (error) {
    throw new StateFileError("damaged", `${says}, and cannot be moved aside: it ${troubleOf(error).says}`);
  }
}

/** Quotas that cannot be read from a damaged file: at the start nobody knows them, later the main thread writes them again. */
const [LOST, KNOWN] = ["lost", "known"] as const;

const ONLY_HISTORY = "starting with empty history";
const QUOTAS_TOO =
  "starting with empty history, and what is not known of quotas counts as used; to say what was used, stop pacewatch and run: pacewatch quota BUDGET --used N";

/** Of every budget. */
function allUsedAt(nowMs: number): QuotaRow {
  return { budget: ANY_BUDGET, hour: hourOf(nowMs), requests: NOBODY_KNOWS, unconfirmed: NOBODY_KNOWS };
}

function writingOf(connection: Connection, notes: string[]): NonNullable<Connection["writing"]> {
  if (connection.writing !== undefined) return connection.writing;
  const { database } = connection;
  const note = makeWritable(database);
  if (note !== undefined) notes.push(note);
  return (connection.writing = { writer: new StateWriter(database), upkeep: new Upkeep(database) });
}
