import { setTimeout as sleep } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import type { PasswordChecker, PasswordVerdict } from "./basic-auth.ts";

export type PasswordCheckLimits = {
  readonly maxWaiting: number;
  /** So a client that guesses passwords does not keep the others out. */
  readonly maxWaitingPerClient: number;
};

/** Starts a worker thread that runs a module. */
export type StartWorker = (options: {
  readonly name: string;
  readonly module: URL;
  readonly canWait: boolean;
}) => Worker;

const BCRYPT_WORKER = new URL("./bcrypt-worker.ts", import.meta.url);
const DEFAULT_LIMITS: PasswordCheckLimits = { maxWaiting: 32, maxWaitingPerClient: 4 };

type Waiting = {
  readonly password: string;
  readonly hash: string;
  readonly client: string;
  readonly settle: (verdict: PasswordVerdict) => void;
};

/** Checks one password at a time, in a thread that is started for the first check. */
export class PasswordChecks implements PasswordChecker, AsyncDisposable {
  readonly #limits: PasswordCheckLimits;
  readonly #startWorker: StartWorker;
  readonly #onWarning: (message: string) => void;
  readonly #closing = new AbortController();
  readonly #waiting: Waiting[] = [];
  #working = false;
  #worker: Worker | undefined;

  constructor(
    startWorker: StartWorker,
    onWarning: (message: string) => void,
    limits: PasswordCheckLimits = DEFAULT_LIMITS,
  ) {
    this.#startWorker = startWorker;
    this.#onWarning = onWarning;
    this.#limits = limits;
  }

  check(password: string, hash: string, client: string): Promise<PasswordVerdict> {
    const ofClient = this.#waiting.filter((other) => other.client === client).length;
    const { maxWaiting, maxWaitingPerClient } = this.#limits;
    const full = this.#waiting.length >= maxWaiting || ofClient >= maxWaitingPerClient;
    if (full || this.#closing.signal.aborted) return Promise.resolve("busy");
    return new Promise((settle) => {
      this.#waiting.push({ password, hash, client, settle });
      if (!this.#working) void this.#work();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    for (const { settle } of this.#waiting.splice(0)) settle("busy");
    await this.#worker?.terminate();
  }

  async #work(): Promise<void> {
    this.#working = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const startedMs = performance.now();
      const verdict = await this.#compare(next);
      next.settle(verdict);
      // After a wrong password the thread rests as long as it worked, so guessing uses at most half a core.
      if (verdict === "mismatch") await this.#rest(performance.now() - startedMs);
    }
    this.#working = false;
  }

  async #rest(restMs: number): Promise<void> {
    try {
      await sleep(restMs, undefined, { signal: this.#closing.signal, ref: false });
    } catch {
      // Closing: no check is waiting any more.
    }
  }

  #compare({ password, hash }: Waiting): Promise<PasswordVerdict> {
    const worker = (this.#worker ??= this.#start());
    return new Promise((resolve) => {
      const onMessage = (matches: unknown): void => {
        worker.off("exit", onExit);
        resolve(matches === true ? "match" : "mismatch");
      };
      const onExit = (): void => {
        worker.off("message", onMessage);
        resolve("busy");
      };
      worker.once("message", onMessage);
      worker.once("exit", onExit);
      worker.postMessage({ password, hash }, []);
    });
  }

  #start(): Worker {
    const worker = this.#startWorker({ name: "passwords", module: BCRYPT_WORKER, canWait: true });
    worker.unref();
    worker.on("error", (error) => {
      this.#onWarning(`password check thread failed, a new one will be started: ${error.message}`);
    });
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }
}
