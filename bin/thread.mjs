// A thread of the daemon: with what was compiled before, as the daemon itself has it.
import { readlinkSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { constants, getPriority, setPriority } from "node:os";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { workerData } from "node:worker_threads";

/** An answer that is being timed cannot wait. */
const STEPS_BACK = 10;

if (workerData.canWait) giveWay();
enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/pacewatch", import.meta.url)));
await import(workerData.module);

/** To the thread that polls, where there are too few cores for both. Linux alone knows priorities of threads. */
function giveWay() {
  try {
    const thread = Number(basename(readlinkSync("/proc/thread-self")));
    setPriority(thread, Math.min(getPriority(thread) + STEPS_BACK, constants.priority.PRIORITY_LOW));
  } catch {
    return;
  }
}
