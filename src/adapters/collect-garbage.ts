import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Reading a config leaves more garbage behind than a day of polling, and V8 takes it for the size that its heap is
 * to have. Collected once, at the end of the start, it is given back. Node.js has no other way to ask for that.
 */
export function collectStartGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  if (typeof collect === "function") collect();
}
