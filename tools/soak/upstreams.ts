import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { askChild, toldBy, type Telling } from "./telling.ts";

const MAIN = fileURLToPath(new URL("upstreams-main.ts", import.meta.url));

export type UpstreamsAddress = Telling<"address">;

/** The watched side: servers in a process of their own, which goes with this one. */
export class UpstreamsProcess implements AsyncDisposable {
  readonly #child: ChildProcess = fork(MAIN, { execArgv: [], env: {} });
  readonly address: Promise<UpstreamsAddress> = toldBy(this.#child, "address");

  /** Requests by upstream, by its own count. */
  async heard(): Promise<ReadonlyMap<string, number>> {
    const { requests } = await askChild(this.#child, "heard");
    return new Map(Object.entries(requests));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
  }
}
