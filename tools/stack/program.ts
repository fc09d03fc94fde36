import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

export type ProgramOptions = {
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Called with each piece of what it says. */
  readonly onOutput?: (text: string) => void;
};

const READY_WITHIN_MS = 30_000;
const END_WITHIN_MS = 15_000;

/** Another program, from its start until it is really gone. */
export class Program implements AsyncDisposable {
  readonly #name: string;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #ended: Promise<unknown>;
  #output = "";

  constructor(path: string, options: ProgramOptions) {
    this.#name = path;
    this.#child = spawn(path, [...options.args], {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#ended = once(this.#child, "close").catch((error: unknown) => {
      this.#output += String(error);
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#output += text;
        options.onOutput?.(text);
      });
    }
  }

  /** All that it has said so far. */
  get output(): string {
    return this.#output;
  }

  /** 0 where it could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined;
  }

  get ended(): Promise<unknown> {
    return this.#ended;
  }

  /** Until that address answers with 200. */
  async ready(url: string): Promise<void> {
    await this.until(`answers at ${url}`, async () => (await fetch(url)).ok);
  }

  async until(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
    const deadlineMs = performance.now() + READY_WITHIN_MS;
    while (
      !(await Promise.resolve()
        .then(look)
        .catch(() => false))
    ) {
      if (this.hasEnded || performance.now() > deadlineMs) {
        throw new Error(`${this.#name} never ${what}. It said: ${this.#output}`);
      }
      await sleep(50);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasEnded) this.#child.kill("SIGTERM");
    const tooLate = new AbortController();
    const kill = sleep(END_WITHIN_MS, undefined, { signal: tooLate.signal }).then(
      () => this.#child.kill("SIGKILL"),
      () => undefined,
    );
    await this.#ended;
    tooLate.abort();
    await kill;
  }
}
