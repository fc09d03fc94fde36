import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { imageCommand } from "../image-command.ts";
import { askChild } from "./telling.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/pacewatch.mjs", import.meta.url));
const PRELOAD = new URL("preload.ts", import.meta.url).href;

/** The program under soak: looked at by its kernel, by its metrics, and by what was loaded beside it. */
export class SoakedProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #url = Promise.withResolvers<string>();
  #lines = 0;
  #errors = "";

  /** With the environment of the image, and none of this machine's: a proxy of its own would come in between. */
  static async start(configPath: string): Promise<SoakedProcess> {
    const { env } = await imageCommand();
    return new SoakedProcess(configPath, env);
  }

  private constructor(configPath: string, env: Readonly<Record<string, string>>) {
    const parameters = ["--expose-gc", `--import=${PRELOAD}`, PROGRAM, "run", "--config", configPath];
    this.#child = spawn(process.execPath, [...parameters, "--listen", "127.0.0.1:0"], {
      env,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const endToo = (): void => void this.#child.kill("SIGKILL");
    process.once("exit", endToo);
    this.#exited = once(this.#child, "close").then(() => {
      process.off("exit", endToo);
      this.#url.reject(new Error(`cannot soak: the program has ended. ${this.#errors}`));
    });
    this.#url.promise.catch(() => {});
    if (this.#child.stdout !== null)
      createInterface(this.#child.stdout).on("line", (line) => this.#log(line));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#errors = (this.#errors + text).slice(-4_000);
    });
  }

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  get logLines(): number {
    return this.#lines;
  }

  /** What it wrote to standard error: the end of it. */
  get errors(): string {
    return this.#errors;
  }

  /** Where it listens; rejects where it ends before. */
  get url(): Promise<string> {
    return this.#url.promise;
  }

  async openFiles(): Promise<number> {
    return (await readdir(`/proc/${this.#child.pid}/fd`)).length;
  }

  /** Sockets, timers, threads, files: whatever would keep its event loop going. */
  async activeResources(): Promise<number> {
    return (await askChild(this.#child, "resources")).count;
  }

  async residentBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
  }

  /** What its heap holds once the garbage is gone. */
  async heapBytes(): Promise<number> {
    return (await askChild(this.#child, "heap")).count;
  }

  async end(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill("SIGKILL");
    await this.#exited;
  }

  #log(line: string): void {
    this.#lines += 1;
    const url = /"url":"([^"]+)"/.exec(line)?.[1];
    if (url !== undefined && line.includes('"msg":"listening"')) this.#url.resolve(url);
  }
}
