import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** An upstream that refuses nobody, and remembers every request: in a process of its own, with a clock of its own. */

const SERVER = fileURLToPath(new URL("witness-main.ts", import.meta.url));

export type SeenRequest = {
  readonly budget: string;
  readonly upstream: string;
  /** Which life of which replica sent it. */
  readonly life: string;
  /** Monotonic, of this machine. */
  readonly atMs: number;
  /** Answered whole, or its connection was closed; at the latest when the witness was asked. */
  readonly endedAtMs: number;
};

export class Witness implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly url: string;
  #asked: Promise<void> = Promise.resolve();

  constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** All of them, in the order of their coming. */
  async seen(): Promise<readonly SeenRequest[]> {
    // One question at a time: an answer does not say what it answers.
    const before = this.#asked;
    const asked = Promise.withResolvers<void>();
    this.#asked = asked.promise;
    await before;
    this.#child.send("seen");
    const [seen] = (await once(this.#child, "message")) as [readonly SeenRequest[]];
    asked.resolve();
    return seen;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}

/** It takes up to so long for an answer. */
export async function startWitness(slowestMs: number): Promise<Witness> {
  const child = fork(SERVER, [String(slowestMs)], { execArgv: [], env: {} });
  const [port] = (await once(child, "message")) as [number];
  return new Witness(child, `http://127.0.0.1:${port}`);
}
