import { type Died, Thread } from "../../platform/thread.ts";
import { Completeness } from "./completeness.ts";
import type { ColumnsQuestion } from "../history/state.ts";
import type { Columns } from "../history/timeline.ts";
import type { OpenReply, StateBatch, StateRequest, Trouble, WriteReply } from "./messages.ts";

const SQLITE_WORKER = new URL("./worker.ts", import.meta.url);

/** It may have written the batch or not. */
export type DiedWriting = Died & Pick<Trouble, "isNoted">;

/** Runs the database. One request after the other; each may take as long as the disk does. */
export interface StateThread {
  open(nowMs: number): Promise<OpenReply | Died>;
  write(batch: StateBatch): Promise<WriteReply | DiedWriting>;
  /** Undefined where it cannot tell. */
  columns(question: ColumnsQuestion): Promise<Columns | undefined>;
  close(): Promise<void>;
  /** Ends the thread at once, and its answer will not come. */
  abandon(): void;
}

/** A worker thread. After a crash, the next request starts another. */
export class SqliteThread implements StateThread {
  readonly #thread: Thread;
  readonly #path: string;
  /** When the last question is answered. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(path: string) {
    this.#thread = new Thread({ name: "state", module: SQLITE_WORKER, canWait: false, data: { path } });
    this.#path = path;
  }

  open(nowMs: number): Promise<OpenReply | Died> {
    return this.#ask({ kind: "open", nowMs });
  }

  async write(batch: StateBatch): Promise<WriteReply | DiedWriting> {
    const reply = await this.#ask<WriteReply>({ kind: "write", batch });
    if (reply.kind !== "died") return reply;
    return { ...reply, isNoted: new Completeness(this.#path).tell(false) };
  }

  async columns(question: ColumnsQuestion): Promise<Columns | undefined> {
    const reply = await this.#ask<Columns | undefined>({ kind: "columns", question });
    return reply !== undefined && "columns" in reply ? reply : undefined;
  }

  async close(): Promise<void> {
    if (!this.#thread.isRunning) return;
    await this.#ask<"closed">({ kind: "close" });
    await this.#thread.end();
  }

  #ask<Answer>(request: StateRequest): Promise<Answer | Died> {
    const answer = this.#turn.then(() => this.#thread.ask<Answer>(request));
    this.#turn = answer;
    return answer;
  }

  abandon(): void {
    void this.#thread.end();
  }
}
