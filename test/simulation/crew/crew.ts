import { once } from "node:events";
import { Worker } from "node:worker_threads";

import type { Errand, Report } from "./crew-messages.ts";

export type Task = {
  readonly first: number;
  readonly count: number;
  readonly hours: number;
  readonly workers: number;
};

/** Runs seeds on several threads until all are through, or `onReport` answers that it has seen enough. */
export async function runSeeds(task: Task, onReport: (report: Report) => "go on" | "stop"): Promise<void> {
  const seeds = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  const [nextIndex, endIndex] = [0, 1];
  const shared = new Int32Array(seeds);
  shared[nextIndex] = task.first;
  shared[endIndex] = task.first + task.count;
  const workerData: Errand = { hours: task.hours, seeds };
  const workers = Array.from({ length: task.workers }, () => {
    const worker = new Worker(new URL("worker.ts", import.meta.url), { workerData });
    worker.on("message", (report: Report) => {
      // Seeds that already run come to their end; no new one begins.
      if (onReport(report) === "stop") Atomics.store(shared, endIndex, 0);
    });
    return worker;
  });
  await Promise.all(workers.map((worker) => once(worker, "exit")));
}
