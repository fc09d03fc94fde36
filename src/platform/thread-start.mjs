// A thread of the daemon, with the same compile cache.
import { readlinkSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { constants, getPriority, setPriority } from "node:os";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { workerData } from "node:worker_threads";

/** The polling thread measures latencies, so it goes first. */
const NICENESS = 10;

// A diagnostic report has a part for each thread, with the environment of the whole process in it.
process.report.excludeEnv = true;
if (workerData.canWait) lowerPriority();
enableCompileCache(fileURLToPath(new URL("../../node_modules/.cache/pacewatch", import.meta.url)));
if (typeof PACEWATCH_COMMIT === "string") {
  const { nameSourcesInStackTraces } = await import("./stack-traces.ts");
  nameSourcesInStackTraces();
}
await import(workerData.module);

/** Only Linux has priorities of threads. */
function lowerPriority() {
  try {
    const thread = Number(basename(readlinkSync("/proc/thread-self")));
    setPriority(thread, Math.min(getPriority(thread) + NICENESS, constants.priority.PRIORITY_LOW));
  } catch {
    return;
  }
}
