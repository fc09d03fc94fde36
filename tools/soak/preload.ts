/**
 * Loaded into the program under soak by `--import`, before its own code: it collects the garbage when the observer asks,
 * and tells what is left. The program is not changed, opens no port for it, and a production process has none of it.
 */

import { isMainThread } from "node:worker_threads";
import type { Told } from "./telling.ts";

// The program's own threads load it too.
if (isMainThread) {
  process.on("message", (asked) => process.send?.(tell(asked)));
  // The channel must not keep a process alive that wants to end.
  process.channel?.unref();
}

function tell(asked: unknown): Told {
  if (asked === "resources") return { kind: "resources", count: process.getActiveResourcesInfo().length };
  if (globalThis.gc === undefined) throw new Error("cannot collect the garbage: --expose-gc must be set");
  // What finalizers let go of falls to the second.
  globalThis.gc();
  globalThis.gc();
  return { kind: "heap", count: process.memoryUsage().heapUsed };
}
