import { startThread } from "../adapters/thread.ts";
import type { Loading } from "../config/load.ts";
import { UNREADABLE } from "../config/read/mark.ts";
import type { Environment } from "../config/read/interpolate.ts";

/** Without the proof, which only the commands print. */
export type LoadedInThread =
  | Omit<Extract<Loading, { kind: "loaded" }>, "proof">
  | Omit<Extract<Loading, { kind: "refused" }>, "proof">;

/**
 * Runs `load` in a thread: polls go on while thousands of upstreams are read, proven and checked, and the memory that it
 * takes, libraries included, is freed with the thread.
 */
export function loadInThread(configPath: string, environment: Environment): Promise<LoadedInThread> {
  const thread = startThread({
    name: "config",
    module: new URL("./load-worker.ts", import.meta.url),
    canWait: true,
    data: { configPath, environment },
  });
  return new Promise((resolve, reject) => {
    thread.once("message", resolve);
    thread.once("error", (error) => {
      if (!("code" in error) || error.code !== "ERR_WORKER_OUT_OF_MEMORY") return reject(error);
      const message = "cannot read config: it takes more memory than there is";
      const faults = [{ file: configPath, line: 1, column: 1, message }];
      resolve({ kind: "refused", faults, digest: UNREADABLE, files: new Map(), parts: new Map() });
    });
    thread.once("exit", () => reject(new Error("cannot read config: its thread ended")));
  });
}
