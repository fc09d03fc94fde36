import { readdir, readFile } from "node:fs/promises";

/** Linux tells every program that a second has a hundred ticks, whatever the kernel's own. */
const TICK_MS = 10;

/** Of all threads, those that have ended included. */
export async function cpuMs(pid: number): Promise<number> {
  return cpuMsOf(await readFile(`/proc/${pid}/stat`, "utf8"));
}

/** The program's name may hold spaces and brackets: fields are counted from the last bracket. */
function cpuMsOf(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Of all threads that live: a daemon's live as long as it. To the nanosecond, where `cpuMs` counts ticks. */
export async function cpuNs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const texts = threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8"));
  return (await Promise.all(texts)).reduce((sum, text) => sum + Number(text.split(" ")[0]), 0);
}

export async function rssBytes(pid: number): Promise<number> {
  return rssBytesOf(await readFile(`/proc/${pid}/status`, "utf8"));
}

function rssBytesOf(status: string): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}
