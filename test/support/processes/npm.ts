import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { eventually } from "../eventually.ts";
import { endWithUs } from "./ends-with-us.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** A script of package.json, as a person or a supervisor starts it: npm, a shell, and what the shell runs. */
export class NpmScript implements AsyncDisposable {
  readonly #npm: ChildProcess;
  readonly exited: Promise<unknown>;
  output = "";

  constructor(args: readonly string[]) {
    // A group of its own: what npm leaves behind can be ended with it.
    this.#npm = spawn("npm", args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"], detached: true });
    endWithUs(this.#npm);
    for (const stream of [this.#npm.stdout, this.#npm.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => (this.output += text));
    }
    this.exited = once(this.#npm, "exit");
  }

  /** The first group of the pattern, once the output matches it. */
  async said(pattern: RegExp): Promise<string> {
    const [, found = ""] = await eventually(
      `"${String(pattern)}" is said`,
      () => pattern.exec(this.output),
      (match) => match !== null,
    );
    return found;
  }

  kill(signal: NodeJS.Signals): void {
    this.#npm.kill(signal);
  }

  /** To everything in the foreground of a terminal, as Ctrl-C does. */
  killGroup(signal: NodeJS.Signals): void {
    if (this.#npm.pid === undefined) throw new Error("cannot signal npm: it was not started");
    process.kill(-this.#npm.pid, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.killGroup("SIGKILL");
    } catch {
      // Nothing of it is left.
    }
    await this.exited;
  }
}

export async function isListening(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}
