import { readdirSync, readFileSync } from "node:fs";
import { PROBE_CONNECTIONS } from "../http/server/server.ts";

/** How many files, sockets included, this process may have open at once, and how many it has. */
export type OpenFiles = { readonly limit: number; readonly open: number };

/** Each thread that starts later takes 5: for passwords, a reload, large answers. The rest is for probes, Redis, name servers and files. */
const KEPT = 28 + PROBE_CONNECTIONS;
/** Whatever the limit: somebody must be able to look. */
const FEWEST_CONNECTIONS = 8;

/** Undefined where the system does not tell. */
export function readOpenFiles(): OpenFiles | undefined {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    // Node.js raises the soft limit to the hard one when it starts.
    const limit = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
    return { limit, open: readdirSync("/proc/self/fd").length };
  } catch {
    return undefined;
  }
}

/**
 * How many connections clients may have, so that they leave each upstream's poll its own: without a free one, no poll
 * could connect for as long as clients stay.
 */
export function connectionsLeft(files: OpenFiles | undefined, upstreams: number): number {
  if (files === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(FEWEST_CONNECTIONS, files.limit - files.open - KEPT - upstreams);
}

/** The limit that would do; undefined where this one does. */
export function limitNeeded(
  files: OpenFiles | undefined,
  upstreams: number,
  connections: number,
): number | undefined {
  if (files === undefined) return undefined;
  const needed = files.open + KEPT + upstreams + connections;
  return files.limit < needed ? needed : undefined;
}
