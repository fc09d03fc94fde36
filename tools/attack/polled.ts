import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("upstream-main.ts", import.meta.url));

type Told = {
  readonly port: number;
  readonly requests: number;
  /** Since it was asked before. */
  readonly longestGapMs: number;
};

/** What the daemon polls: a process that nobody attacks. */
export class Polled implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly url: string;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(program: string = PROGRAM, args: readonly string[] = []): Promise<Polled> {
    const child = fork(program, [...args], { execArgv: [], env: {} });
    return new Polled(child, (await toldBy(child)).port);
  }

  async tell(): Promise<Told> {
    const told = toldBy(this.#child);
    this.#child.send("tell");
    return await told;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}

async function toldBy(child: ChildProcess): Promise<Told> {
  const [told]: Told[] = await once(child, "message");
  if (told === undefined) throw new Error("cannot learn of the polls");
  return told;
}
