import { Worker } from "node:worker_threads";

/**
 * A thread that runs one module, with what was compiled before. Keys may be in the environment, and no thread needs
 * any of it by itself.
 */
export function startThread(name: string, module: URL, data: Readonly<Record<string, unknown>> = {}): Worker {
  return new Worker(new URL("../bin/thread.mjs", import.meta.url), {
    name,
    workerData: { ...data, module: module.href },
    env: {},
  });
}
