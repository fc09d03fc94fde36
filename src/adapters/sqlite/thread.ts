import type { Worker } from "node:worker_threads";
import { startThread } from "../thread.ts";
import type { OpenReply, StateBatch, StateReply, StateRequest, WriteReply } from "./messages.ts";

const SQLITE_WORKER = new URL("./worker.ts", import.meta.url);

/** The thread ended before it answered: it may have written or not. */
export type Died = { readonly kind: "died"; readonly message: string };

/** Runs the database. One request at a time; each may take as long as the disk does. */
export interface StateThread {
  open(nowMs: number): Promise<OpenReply | Died>;
  write(batch: StateBatch): Promise<WriteReply | Died>;
  close(): Promise<void>;
  /** Without waiting for an answer. */
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

  async open(nowMs: number): Promise<OpenReply | Died> {
    const reply = await this.#ask({ kind: "open", nowMs });
    if (reply.kind === "opened" || reply.kind === "refused" || reply.kind === "died") return reply;
    throw unexpected("open", reply.kind);
  }

  async write(batch: StateBatch): Promise<WriteReply | Died> {
    const reply = await this.#ask({ kind: "write", batch });
    if (reply.kind === "written" || reply.kind === "failed" || reply.kind === "died") return reply;
    throw unexpected("write", reply.kind);
  }

  async close(): Promise<void> {
    if (this.#worker === undefined) return;
    await this.#ask({ kind: "close" });
    await this.#worker?.terminate();
  }

  abandon(): void {
    void this.#worker?.terminate();
    this.#worker?.unref();
  }

  #ask(request: StateRequest): Promise<StateReply | Died> {
    const worker = (this.#worker ??= this.#start());
    return new Promise((resolve) => {
      const onMessage = (reply: StateReply): void => {
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

function unexpected(question: string, answer: string): Error {
  return new Error(`cannot keep state: the answer to "${question}" must fit it, received "${answer}"`);
}
