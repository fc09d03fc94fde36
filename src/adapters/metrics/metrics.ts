import { setImmediate as nextTurn } from "node:timers/promises";
import { collectDefaultMetrics, Registry } from "prom-client";
import { ownedPieces, processText } from "../../core/metrics/exposition.ts";
import { snapshotIn, takeFrame, type ScrapeSubjects } from "../../core/metrics/scrape-frame.ts";
import type { MetricsSnapshot } from "../../core/metrics/snapshot.ts";
import { ScrapeThread } from "./scrape-thread.ts";

/** Plain, or in gzip of parts that can be read one by one. Written while it is read. */
export type ScrapedText =
  | { readonly pieces: AsyncIterable<string> }
  | { readonly gzipped: AsyncIterable<Uint8Array<ArrayBuffer>> };

export interface Metrics extends AsyncDisposable {
  /** Shows the moment of the call. The numbers of the process come last. */
  render(): ScrapedText;
}

/** The text of more upstreams is written in a thread, which takes some 20 MB. */
const FEW_UPSTREAMS = 300;

export function createMetrics(snapshot: () => MetricsSnapshot, onBug: (error: unknown) => void): Metrics {
  const thread = new ScrapeThread();
  let subjects: ScrapeSubjects | undefined;
  return {
    render: () => {
      const now = snapshot();
      const frame = takeFrame(now, subjects);
      subjects = frame.subjects;
      const ours = processText(now);
      const ending = async (): Promise<string> => {
        // The library takes as long as the snapshot did: let other work run in between.
        await nextTurn();
        return ours + (await processRegistry().metrics());
      };
      if (now.upstreams.length <= FEW_UPSTREAMS) {
        thread.rest();
        return { pieces: reported(endedBy(ownedPieces(snapshotIn(frame)), ending), onBug) };
      }
      return { gzipped: reported(thread.parts(frame, ending), onBug) };
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}

async function* endedBy(pieces: Iterable<string>, ending: () => Promise<string>): AsyncGenerator<string> {
  yield* pieces;
  yield await ending();
}

/** Its reader sees only that it ended early, not why. */
async function* reported<Part>(
  parts: AsyncIterable<Part>,
  onBug: (error: unknown) => void,
): AsyncGenerator<Part> {
  try {
    yield* parts;
  } catch (error) {
    onBug(error);
    throw error;
  }
}

/** The linter of Prometheus refuses these names of the library. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** The library fills these by waking up 110 times a second, which costs more than hundreds of upstreams. */
const WATCHED = [
  ...["min", "max", "mean", "stddev", "p50", "p90", "p99"].map(
    (what) => `nodejs_eventloop_lag_${what}_seconds`,
  ),
  "nodejs_eventloop_utilization_histogram",
  "nodejs_eventloop_utilization_summary",
];
/** As long as a timer can be. */
const NEVER_MS = 2 ** 31 - 1;

let registry: Registry | undefined;

/**
 * One for the whole process: what the library starts (its timer, its observer of the garbage collector) can never be
 * stopped. None of it keeps the process alive.
 */
function processRegistry(): Registry {
  if (registry === undefined) {
    registry = new Registry();
    collectDefaultMetrics({
      register: registry,
      eventLoopMonitoringPrecision: NEVER_MS,
      eventLoopUtilizationTimeout: NEVER_MS,
    });
    for (const name of [...MISNAMED, ...WATCHED]) registry.removeSingleMetric(name);
  }
  return registry;
}
