import { Worker } from "node:worker_threads";

export type ThreadOptions = {
  readonly name: string;
  readonly module: URL;
  /** Runs at a lower priority than the polling thread. */
  readonly canWait: boolean;
  readonly data?: Readonly<Record<string, unknown>>;
};

/** Runs one module in a thread, with the compile cache and an empty environment: keys may be in ours. */
export function startThread({ name, module, canWait, data }: ThreadOptions): Worker {
  return new Worker(new URL("./thread-start.mjs", import.meta.url), {
    name,
    workerData: { ...data, canWait, module: module.href },
    env: {},
  });
}
