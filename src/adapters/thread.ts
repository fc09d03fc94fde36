import { Worker } from "node:worker_threads";

export type ThreadOptions = {
  readonly name: string;
  readonly module: URL;
  /** For the thread that polls, where both want the same core. */
  readonly canWait: boolean;
  readonly data?: Readonly<Record<string, unknown>>;
};

/**
 * A thread that runs one module, with what was compiled before. Keys may be in the environment, and no thread needs
 * any of it by itself.
 */
export function startThread({ name, module, canWait, data }: ThreadOptions): Worker {
  return new Worker(new URL("../../bin/thread.mjs", import.meta.url), {
    name,
    workerData: { ...data, canWait, module: module.href },
    env: {},
  });
}
