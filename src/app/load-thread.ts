import { codeOf } from "../core/text/escape.ts";
import { startThread } from "../adapters/thread.ts";
import type { Loading } from "../config/load.ts";
import { UNREADABLE } from "../files/mark.ts";
import type { Environment } from "../config/read/interpolate.ts";

/**
 * Runs `load` in a thread: polls go on while thousands of upstreams are read, proven and checked, and the memory that it
 * takes, libraries included, is freed with the thread.
 */
export function loadInThread(configPath: string, environment: Environment): Promise<Loading> {
  return new Promise((resolve, reject) => {
    const onError = (error: unknown): void => {
      const why = WHY_NOT.get(codeOf(error));
      if (why === undefined) return reject(error);
      const faults = [{ file: configPath, line: 1, column: 1, message: `cannot read config: ${why}` }];
      resolve({
        kind: "refused",
        faults,
        proof: undefined,
        isForGood: false,
        digest: UNREADABLE,
        files: new Map(),
        parts: new Map(),
      });
    };
    try {
      const thread = startThread({
        name: "config",
        module: new URL("./load-worker.ts", import.meta.url),
        canWait: true,
        data: { configPath, environment },
      });
      thread.once("message", resolve);
      thread.once("error", onError);
      thread.once("exit", () => reject(new Error("cannot read config: its thread ended")));
    } catch (error) {
      onError(error);
    }
  });
}

/** The machine lacks something. Every other error is a bug. */
const WHY_NOT: ReadonlyMap<unknown, string> = new Map([
  ["ERR_WORKER_OUT_OF_MEMORY", "it takes more memory than there is"],
  ["ERR_WORKER_INIT_FAILED", "the process may not start another thread, or not open another file"],
]);
