import { readFileSync } from "node:fs";

/** How long processes were ready to run and no CPU was free: Linux tells it of each. */
export class CpuWait {
  readonly #before = new Map<number, number>();

  /** Whoever is not told of began later: all that it waited counts. */
  constructor(pids: readonly number[]) {
    for (const pid of pids) this.#before.set(pid, waitedMs(pid));
  }

  /** Of all together: a takeover goes through several, one after the other. */
  ms(pids: readonly number[]): number {
    return pids.reduce((sum, pid) => sum + Math.max(0, waitedMs(pid) - (this.#before.get(pid) ?? 0)), 0);
  }
}

/** Of its main thread. 0 where it has ended, or nobody can tell. */
function waitedMs(pid: number): number {
  try {
    const [, waitedNs] = readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ");
    return Number(waitedNs ?? 0) / 1e6;
  } catch {
    return 0;
  }
}
