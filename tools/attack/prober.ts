import { once } from "node:events";
import { Worker } from "node:worker_threads";

export type ProbesSeen = { readonly longestMs: number; readonly answered: number; readonly failed: number };

export class Prober implements AsyncDisposable {
  readonly #worker: Worker;

  constructor(url: string) {
    this.#worker = new Worker(new URL("prober-main.ts", import.meta.url), { workerData: { url } });
  }

  /** Since it was asked before. */
  async tell(): Promise<ProbesSeen> {
    const told = once(this.#worker, "message");
    this.#worker.postMessage("tell", []);
    const [seen]: ProbesSeen[] = await told;
    if (seen === undefined) throw new Error("cannot learn of the probes");
    return seen;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
