/**
 * Loaded into the daemon before itself, to count what nobody outside could see. SIGUSR2 asks for a line on standard
 * error. SIGWINCH begins to count objects, by hooks that make some themselves; with `?by-function` in this file's address
 * it begins to look who allocates instead.
 */

import { createHook } from "node:async_hooks";
import { writeSync } from "node:fs";
import { Session, type HeapProfiler } from "node:inspector/promises";
import { performance, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import { isMainThread } from "node:worker_threads";

/** So far. */
export type Inside = {
  readonly heapBytes: number;
  readonly bufferBytes: number;
  /** Of the young heap or the whole. */
  readonly collections: number;
  readonly turns: number;
  /** By the names that Node.js has for them. */
  readonly made: Readonly<Record<string, number>>;
  readonly bytesByFunction: Readonly<Record<string, number>>;
};

/** Bytes between two samples: so few that what one poll allocates is seen in full. */
const SAMPLE_BYTES = 64;
const isByFunction = import.meta.url.endsWith("?by-function");
const made = new Map<string, number>();
const hook = createHook({ init: (_id, type) => void made.set(type, (made.get(type) ?? 0) + 1) });
const session = new Session();
let isSampling = false;
let collections = 0;
new PerformanceObserver((list) => (collections += list.getEntries().length)).observe({ entryTypes: ["gc"] });

if (isMainThread) {
  process.on("SIGUSR2", () => void tell());
  process.on("SIGWINCH", () => void begin());
}

async function tell(): Promise<void> {
  const { used_heap_size: heapBytes, external_memory: bufferBytes } = getHeapStatistics();
  const turns = performance.nodeTiming.uvMetricsInfo.loopCount;
  const bytesByFunction = isSampling ? await sampled() : {};
  const inside: Inside = {
    heapBytes,
    bufferBytes,
    collections,
    turns,
    made: Object.fromEntries(made),
    bytesByFunction,
  };
  writeSync(2, `counting ${JSON.stringify(inside)}\n`);
  hook.disable();
}

async function begin(): Promise<void> {
  if (!isByFunction) {
    hook.enable();
    return;
  }
  isSampling = true;
  session.connect();
  await session.post("HeapProfiler.startSampling", {
    samplingInterval: SAMPLE_BYTES,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
}

async function sampled(): Promise<Record<string, number>> {
  const { profile } = await session.post("HeapProfiler.stopSampling");
  const bytes = new Map<string, number>();
  // What V8 itself allocates is its caller's.
  const open: { node: HeapProfiler.SamplingHeapProfileNode; caller: string }[] = [
    { node: profile.head, caller: "" },
  ];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const { functionName, url, lineNumber } = each.node.callFrame;
    const name = functionName || "(anonymous)";
    const where =
      url === ""
        ? `${name} of ${each.caller}`
        : `${name} ${url.replace(/^.*\/(?=[^/]+\/[^/]+$)/, "")}:${lineNumber + 1}`;
    bytes.set(where, (bytes.get(where) ?? 0) + each.node.selfSize);
    open.push(...each.node.children.map((node) => ({ node, caller: url === "" ? each.caller : where })));
  }
  return Object.fromEntries(bytes);
}
