import { readdirSync, readFileSync } from "node:fs";
import { PROBE_CONNECTIONS } from "../http/server/server.ts";

/** How many files, sockets included, this process may have open at once, and how many it has. */
export type OpenFiles = { readonly limit: number; readonly open: number };

/** Each thread that starts later takes 5: for passwords, a reload, large answers. The rest is for probes, Redis, name servers and files. */
const KEPT = 28 + PROBE_CONNECTIONS;
/** Whatever the limit: somebody must be able to look. */
const FEWEST_CONNECTIONS = 8;

/** Any number of them, where the system does not tell. */
export function readOpenFiles(): OpenFiles {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    // Node.js raises the soft limit to the hard one when it starts.
    const limit = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
    return { limit, open: readdirSync("/proc/self/fd").length };
  } catch {
    return { limit: Number.POSITIVE_INFINITY, open: 0 };
  }
}

/**
 * How many connections clients may have, so that they leave each upstream's poll its own: without a free one, no poll
 * could connect for as long as clients stay.
 */
export function connectionsLeft({ limit, open }: OpenFiles, upstreams: number): number {
  return Math.max(FEWEST_CONNECTIONS, limit - open - KEPT - upstreams);
}

/** The limit that would do; undefined where this one does. */
export function limitNeeded(
  { limit, open }: OpenFiles,
  upstreams: number,
  connections: number,
): number | undefined {
  const needed = open + KEPT + upstreams + connections;
  return limit < needed ? needed : undefined;
}
