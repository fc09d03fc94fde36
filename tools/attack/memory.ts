import { existsSync } from "node:fs";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";

/** A control group of the kernel that limits memory, in either version; undefined where this machine allows none. */
export class MemoryGroup implements AsyncDisposable {
  readonly #folder: string;
  readonly #isOld: boolean;

  private constructor(folder: string, isOld: boolean) {
    this.#folder = folder;
    this.#isOld = isOld;
  }

  static async create(name: string, limitBytes: number): Promise<MemoryGroup | undefined> {
    const isOld = existsSync("/sys/fs/cgroup/memory");
    const folder = `/sys/fs/cgroup/${isOld ? "memory/" : ""}${name}`;
    try {
      await mkdir(folder);
      // The old version counts the memory of sockets only where it is limited too.
      if (isOld) await writeFile(`${folder}/memory.kmem.tcp.limit_in_bytes`, String(limitBytes));
      const limit = isOld ? "memory.limit_in_bytes" : "memory.max";
      await writeFile(`${folder}/${limit}`, String(limitBytes));
      if (!isOld) await writeFile(`${folder}/memory.swap.max`, "0").catch(() => {});
      return new MemoryGroup(folder, isOld);
    } catch {
      await rmdir(folder).catch(() => {});
      return undefined;
    }
  }

  /** A process joins by writing its id here. */
  get members(): string {
    return `${this.#folder}/cgroup.procs`;
  }

  /** The processes that the kernel ended for want of memory. */
  async kills(): Promise<number> {
    const file = this.#isOld ? "memory.oom_control" : "memory.events";
    return Number(/^oom_kill (\d+)$/m.exec(await readFile(`${this.#folder}/${file}`, "utf8"))?.[1] ?? 0);
  }

  /** Once its processes have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await rmdir(this.#folder);
  }
}

/** The most resident memory of a process since it was asked before. */
export async function peakBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  // 5 begins a new peak.
  await writeFile(`/proc/${pid}/clear_refs`, "5");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}
