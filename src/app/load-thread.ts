import { codeOf } from "../core/text/escape.ts";
import { Thread } from "../adapters/thread.ts";
import type { Loading } from "../config/load.ts";
import { UNREADABLE } from "../files/mark.ts";
import type { Environment } from "../config/read/interpolate.ts";

/**
 * Runs `load` in a thread: polls go on while thousands of upstreams are read, proven and checked, and the memory that it
 * takes, libraries included, is freed with the thread.
 */
export async function loadInThread(configPath: string, environment: Environment): Promise<Loading> {
  const thread = new Thread({
    name: "config",
    module: new URL("./load-worker.ts", import.meta.url),
    canWait: true,
  });
  let failure: unknown;
  try {
    const answer = await thread.ask<Loading>({ configPath, environment });
    if (answer.kind !== "died") return answer;
    failure = answer.error;
  } catch (error) {
    failure = error;
  } finally {
    await thread.end();
  }
  const why = WHY_NOT.get(codeOf(failure));
  if (why === undefined) throw failure ?? new Error("cannot read config: its thread ended");
  return {
    kind: "refused",
    faults: [{ file: configPath, line: 1, column: 1, message: `cannot read config: ${why}` }],
    proof: undefined,
    isForGood: false,
    digest: UNREADABLE,
    files: new Map(),
    parts: new Map(),
  };
}

/** The machine lacks something. Every other error is a bug. */
const WHY_NOT: ReadonlyMap<unknown, string> = new Map([
  ["ERR_WORKER_OUT_OF_MEMORY", "it takes more memory than there is"],
  ["ERR_WORKER_INIT_FAILED", "the process may not start another thread, or not open another file"],
]);
