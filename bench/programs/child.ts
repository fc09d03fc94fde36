import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A part of the bench in a process of its own; it ends when this one does. One question at a time. */
export class Child<Question extends string | object, Answer> implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor(file: string) {
    // The young heap that Pacewatch is shipped with.
    const execArgv = ["--max-semi-space-size=2"];
    this.#child = fork(fileURLToPath(new URL(file, import.meta.url)), [], { execArgv });
    this.#exited = once(this.#child, "exit");
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async ask(question: Question): Promise<Answer> {
    const answered = new AbortController();
    const answer = once(this.#child, "message", { signal: answered.signal }) as Promise<[Answer]>;
    this.#child.send(question);
    const first = await Promise.race([answer, this.#exited.then(() => undefined)]);
    answered.abort();
    if (Array.isArray(first)) return first[0];
    await answer.catch(() => undefined);
    throw new Error(`cannot go on measuring: ${this.#child.spawnargs.at(-1)} has ended`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }
}
