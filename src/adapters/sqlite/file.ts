import type { DatabaseSync } from "node:sqlite";
import type { QuotaRow } from "../../core/budget/quota.ts";
import {
  hasBytes,
  headerOf,
  inodeOf,
  makePrivate,
  moveAside,
  PlaceError,
  requirePlace,
  StateLock,
} from "./place.ts";
import { isEmpty, makeWritable, openDatabase, requireSound } from "./database.ts";
import type { OpenReply, Restored, StateBatch, WriteReply } from "./messages.ts";
import { readQuotas, readState } from "./reading.ts";
import { cutLongPolls, Upkeep } from "./retention.ts";
import { APPLICATION_ID } from "./schema.ts";
import { quotaRow } from "./tables.ts";
import { StateFileError, troubleOf } from "./trouble.ts";
import { StateWriter } from "./writing.ts";

type Connection = {
  readonly database: DatabaseSync;
  readonly writer: StateWriter;
  readonly upkeep: Upkeep;
  readonly inode: number | undefined;
};

const NOTHING: Restored = {
  upstreams: new Map(),
  standing: { quotas: [], budgets: new Map(), pauses: new Map() },
};

/** One state file, from the first opening to the last closing. It recovers from whatever happens to the file. */
export class StateFile {
  readonly #path: string;
  #lock: StateLock | undefined;
  #connection: Connection | undefined;
  #isChecked = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** Refused unless it can be read and written. If only writing fails for now, it opens and says why. */
  open(nowMs: number): OpenReply {
    try {
      requirePlace(this.#path);
      this.#lock = new StateLock(this.#path);
      return this.#start(nowMs);
    } catch (error) {
      if (error instanceof StateFileError && error.trouble.kind === "foreign") this.#lock?.withdraw();
      this.close();
      return { kind: "refused", message: this.#refusalOf(error) };
    }
  }

  write(batch: StateBatch): WriteReply {
    const notes: string[] = [];
    try {
      this.#lock ??= new StateLock(this.#path);
      const { writer, inode } = (this.#connection ??= this.#connect(notes));
      if (inodeOf(this.#path) !== inode) throw new StateFileError("moved", "was moved, replaced or removed");
      writer.write(batch);
    } catch (error) {
      return { kind: "failed", trouble: this.#fail(error), notes };
    }
    this.#tidy(batch.nowMs);
    return { kind: "written", notes };
  }

  close(): void {
    this.#disconnect();
    this.#lock?.release();
    this.#lock = undefined;
  }

  #start(nowMs: number): OpenReply {
    let restored: Restored | undefined;
    const notes: string[] = [];
    try {
      this.#connection = this.#connect(notes, (database) => void (restored = readState(database, nowMs)));
      const cut = cutLongPolls(this.#connection.database);
      if (cut > 0) notes.push(`the state file kept too much of answers: ${cut} polls of it were cut`);
      return { kind: "opened", restored: restored ?? NOTHING, trouble: undefined, notes };
    } catch (error) {
      const { kind, says } = troubleOf(error);
      if (kind !== "full" && kind !== "failing" && kind !== "locked") throw error;
      restored ??= this.#readAlone(nowMs);
      return { kind: "opened", restored, trouble: says, notes };
    }
  }

  /**
   * `look` reads it before the first write. A damaged file is moved aside, and a new one begun: but only a file that was
   * ours by its header. By mistake, `state.path` may be the path of anything.
   */
  #connect(notes: string[], look: (database: DatabaseSync) => void = () => {}): Connection {
    try {
      return this.#connectOnce(look);
    } catch (error) {
      const { kind, says } = troubleOf(error);
      if (kind !== "damaged") throw error;
      if (headerOf(this.#path)?.applicationId !== APPLICATION_ID) {
        throw new StateFileError("foreign", `${says}, and its header does not say that pacewatch wrote it`);
      }
      const quotas = this.#salvageQuotas();
      const aside = moveAside(this.#path);
      const lost = quotas === undefined ? "empty quota counts and empty history" : "empty history";
      notes.push(`the state file ${says}: it was moved to "${aside}", starting with ${lost}`);
      const connection = this.#connectOnce(() => {});
      connection.writer.write({ polls: [], rows: (quotas ?? []).map(quotaRow) });
      look(connection.database);
      return connection;
    }
  }

  #connectOnce(look: (database: DatabaseSync) => void): Connection {
    makePrivate(this.#path);
    const database = openDatabase(this.#path);
    try {
      if (!isEmpty(database)) {
        if (!this.#isChecked) requireSound(database);
        look(database);
      }
      makeWritable(database);
      this.#isChecked = true;
      const inode = inodeOf(this.#path);
      return { database, inode, writer: new StateWriter(database), upkeep: new Upkeep(database) };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** A full disk is no reason to forget. Throws if the file has content that cannot be read. */
  #readAlone(nowMs: number): Restored {
    if (!hasBytes(this.#path)) return NOTHING;
    const database = openDatabase(this.#path, true);
    try {
      return isEmpty(database) ? NOTHING : readState(database, nowMs);
    } finally {
      database.close();
    }
  }

  /** Quotas are money: their counts are read even from a damaged file, if possible. */
  #salvageQuotas(): readonly QuotaRow[] | undefined {
    let database: DatabaseSync | undefined;
    try {
      database = openDatabase(this.#path);
      return readQuotas(database);
    } catch (error) {
      troubleOf(error);
      return undefined;
    } finally {
      database?.close();
    }
  }

  /** The batch is written already: a failure here is reported with the next one. */
  #tidy(nowMs: number): void {
    try {
      this.#connection?.upkeep.tidy(nowMs);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): string {
    const { kind, says } = troubleOf(error);
    if (kind === "damaged") this.#isChecked = false;
    this.#disconnect();
    return says;
  }

  #disconnect(): void {
    this.#connection?.database.close();
    this.#connection = undefined;
  }

  #refusalOf(error: unknown): string {
    const must =
      error instanceof PlaceError
        ? error.message
        : `a file that can be read and written, received one that ${troubleOf(error).says}`;
    return `cannot keep state: "${this.#path}" must be ${must}`;
  }
}
