import { askOnce } from "../platform/thread.ts";
import { type Loading, unreadable } from "../config/load.ts";
import type { Environment } from "../config/read/interpolate.ts";
import { codeOf } from "../kernel/text/escape.ts";

/** Runs `load` in a thread: polls go on while thousands of upstreams are read, proven and checked. */
export async function loadInThread(configPath: string, environment: Environment): Promise<Loading> {
  try {
    const module = new URL("./load-worker.ts", import.meta.url);
    return await askOnce<Loading>("config", module, { configPath, environment });
  } catch (error) {
    const why = WHY_NOT.get(codeOf(error));
    if (why === undefined) throw error;
    return unreadable(configPath, why);
  }
}

/** The machine lacks something. Every other error is a bug. */
const WHY_NOT: ReadonlyMap<unknown, string> = new Map([
  ["ERR_WORKER_OUT_OF_MEMORY", "it takes more memory than there is"],
  ["ERR_WORKER_INIT_FAILED", "the process may not start another thread, or not open another file"],
]);
