import type { Worker } from "node:worker_threads";
import { startThread } from "../thread.ts";
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
  readonly #path: string;
  #worker: Worker | undefined;
  #fault = "";

  constructor(path: string) {
    this.#path = path;
  }

  open(nowMs: number): Promise<OpenReply | Died> {
    return this.#ask<OpenReply>({ kind: "open", nowMs });
  }

  write(batch: StateBatch): Promise<WriteReply | Died> {
    return this.#ask<WriteReply>({ kind: "write", batch });
  }

  async close(): Promise<void> {
    if (this.#worker === undefined) return;
    await this.#ask<"closed">({ kind: "close" });
    await this.#worker?.terminate();
  }

  abandon(): void {
    void this.#worker?.terminate();
    this.#worker?.unref();
  }

  #ask<Reply>(request: StateRequest): Promise<Reply | Died> {
    const worker = (this.#worker ??= this.#start());
    return new Promise((resolve) => {
      const onMessage = (reply: Reply): void => {
        worker.off("exit", onExit);
        resolve(reply);
      };
      const onExit = (): void => {
        worker.off("message", onMessage);
        resolve({ kind: "died", message: this.#fault });
      };
      worker.once("message", onMessage);
      worker.once("exit", onExit);
      worker.postMessage(request, []);
    });
  }

  #start(): Worker {
    const worker = startThread({
      name: "state",
      module: SQLITE_WORKER,
      canWait: false,
      data: { path: this.#path },
    });
    this.#fault = "its thread ended";
    worker.on("error", (error) => void (this.#fault = error.stack ?? error.message));
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }
}
