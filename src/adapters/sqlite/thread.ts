import { stackOf } from "../../core/text/escape.ts";
import { type Died as ThreadDied, Thread } from "../thread.ts";
import type { OpenReply, StateBatch, StateRequest, WriteReply } from "./messages.ts";

const SQLITE_WORKER = new URL("./worker.ts", import.meta.url);

/** The thread ended before it answered: it may have written or not. */
export type Died = { readonly kind: "died"; readonly message: string };

/** Runs the database. One request at a time; each may take as long as the disk does. */
export interface StateThread {
  open(nowMs: number): Promise<OpenReply | Died>;
  write(batch: StateBatch): Promise<WriteReply | Died>;
  close(): Promise<void>;
  /** Ends the thread at once, and its answer will not come. */
  abandon(): void;
}

/** A worker thread. After a crash, the next request starts another. */
export class SqliteThread implements StateThread {
  readonly #thread: Thread;

  constructor(path: string) {
    this.#thread = new Thread({ name: "state", module: SQLITE_WORKER, canWait: false, data: { path } });
  }

  async open(nowMs: number): Promise<OpenReply | Died> {
    const reply = await this.#thread.ask<OpenReply>({ kind: "open", nowMs } satisfies StateRequest);
    return reply.kind === "died" ? diedOf(reply) : reply;
  }

  async write(batch: StateBatch): Promise<WriteReply | Died> {
    const reply = await this.#thread.ask<WriteReply>({ kind: "write", batch } satisfies StateRequest);
    return reply.kind === "died" ? diedOf(reply) : reply;
  }

  async close(): Promise<void> {
    if (!this.#thread.isRunning) return;
    await this.#thread.ask<"closed">({ kind: "close" } satisfies StateRequest);
    await this.#thread.end();
  }

  abandon(): void {
    void this.#thread.end();
  }
}

function diedOf({ error }: ThreadDied): Died {
  return { kind: "died", message: error === undefined ? "its thread ended" : stackOf(error) };
}
