import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { UpstreamOptions } from "../../../src/simulator/upstream.ts";

/** A simulated upstream in a process of its own, so that it alone can be frozen. It tells nothing of its limits. */

const SERVER = fileURLToPath(new URL("upstream-process-main.ts", import.meta.url));

export type ProcessOptions = Pick<UpstreamOptions, "name" | "limits">;

/** What the upstream counted by its own clock. */
export type UpstreamReport = {
  readonly url: string;
  readonly requests: number;
  /** The most in any window of its first limit. */
  readonly worst: number;
};

export class UpstreamProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly url: string;

  constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Waits until it is thawed. */
  async report(): Promise<UpstreamReport> {
    this.#child.send("report");
    const [report] = (await once(this.#child, "message")) as [UpstreamReport];
    return report;
  }

  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child.kill("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}

export async function startUpstreamProcess(options: ProcessOptions): Promise<UpstreamProcess> {
  const child = fork(SERVER, [JSON.stringify(options)], { execArgv: [], env: {} });
  const [{ url }] = (await once(child, "message")) as [UpstreamReport];
  return new UpstreamProcess(child, url);
}
