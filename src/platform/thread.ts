import { type ResourceLimits, Worker } from "node:worker_threads";

export type ThreadOptions = {
  readonly name: string;
  readonly module: URL;
  /** Runs at a lower priority than the polling thread. */
  readonly canWait: boolean;
  readonly data?: Readonly<Record<string, unknown>>;
  /** It ends with an error where it needs more. */
  readonly resourceLimits?: ResourceLimits;
};

/** The thread ended before it answered. Without an error, somebody ended it. */
export type Died = { readonly kind: "died"; readonly error: Error | undefined };

/** A thread that is asked one question at a time. It starts with the first one, and again with the first after a crash. */
export class Thread {
  readonly #options: ThreadOptions;
  #worker: Worker | undefined;
  #error: Error | undefined;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  ask<Answer>(question: unknown): Promise<Answer | Died> {
    const worker = (this.#worker ??= this.#start());
    return new Promise((resolve) => {
      const onMessage = (answer: Answer): void => {
        worker.off("exit", onExit);
        resolve(answer);
      };
      const onExit = (): void => {
        worker.off("message", onMessage);
        resolve({ kind: "died", error: this.#error });
      };
      worker.once("message", onMessage);
      worker.once("exit", onExit);
      worker.postMessage(question, []);
    });
  }

  /** The CPU time that it took since it started; undefined where it has ended. */
  async cpuMs(): Promise<number | undefined> {
    try {
      const used = await this.#worker?.cpuUsage();
      return used && (used.user + used.system) / 1_000;
    } catch {
      return undefined;
    }
  }

  /** Ends it at once. From now on it does not keep the process alive, even if a disk does not let it end. */
  async end(): Promise<void> {
    const worker = this.#worker;
    // It takes a while to end, and answers no more: the next question is for another one.
    this.#worker = undefined;
    worker?.unref();
    await worker?.terminate();
  }

  /** With the compile cache and an empty environment: keys may be in ours. */
  #start(): Worker {
    const { name, module, canWait, data, resourceLimits = {} } = this.#options;
    const workerData = { ...data, canWait, module: module.href };
    const options = { name, workerData, env: {}, resourceLimits };
    const worker = new Worker(new URL("./thread-start.mjs", import.meta.url), options);
    this.#error = undefined;
    worker.on("error", (error) => void (this.#error = error));
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }
}

/**
 * Asks one question of a thread that is there only meanwhile, at a lower priority than polls: the memory that the answer
 * took, libraries included, is freed with it. Throws what ended the thread, if that was before the answer.
 */
export async function askOnce<Answer>(name: string, module: URL, question: unknown): Promise<Answer> {
  const thread = new Thread({ name, module, canWait: true });
  try {
    const answer = await thread.ask<{ readonly kind: "answered"; readonly what: Answer }>(question);
    if (answer.kind === "answered") return answer.what;
    throw answer.error ?? new Error("its thread ended");
  } finally {
    await thread.end();
  }
}
