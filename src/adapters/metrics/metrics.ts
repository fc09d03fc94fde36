import { setImmediate as nextTurn } from "node:timers/promises";
import { collectDefaultMetrics, Registry } from "prom-client";
import { ownedPieces, processText } from "../../core/metrics/exposition.ts";
import { snapshotIn, takeFrame, type ScrapeSubjects } from "../../core/metrics/scrape-frame.ts";
import type { MetricsSnapshot } from "../../core/metrics/snapshot.ts";
import { ScrapeThread } from "./scrape-thread.ts";
import { textInTurns, type TextStream } from "./text-in-turns.ts";

/** Plain, for whoever serves it to compress; or compressed already. */
export type ScrapedText = TextStream | { readonly gzipped: TextStream };

export interface Metrics extends AsyncDisposable {
  /** Of the moment at which this is called, written as it is read; the process's own numbers come last. */
  render(isGzipWelcome?: boolean): ScrapedText;
}

/** More of them are written in a thread of their own. It takes some 20 MB, which few upstreams are not worth. */
const FEW_UPSTREAMS = 50;

export function createMetrics(snapshot: () => MetricsSnapshot, onBug: (error: unknown) => void): Metrics {
  const thread = new ScrapeThread();
  let cast: ScrapeSubjects | undefined;
  return {
    render: (isGzipWelcome = false) => {
      const now = snapshot();
      const frame = takeFrame(now, cast);
      cast = frame.cast;
      const ours = processText(now);
      const ending = async (): Promise<string> => {
        // What the library reads of the process takes as long as the snapshot: not both in one go.
        await nextTurn();
        return ours + (await processRegistry().metrics());
      };
      if (now.upstreams.length <= FEW_UPSTREAMS) {
        thread.rest();
        return textInTurns(ownedPieces(snapshotIn(frame)), ending, onBug);
      }
      return isGzipWelcome
        ? { gzipped: thread.text(frame, "gzip", ending, onBug) }
        : thread.text(frame, "plain", ending, onBug);
    },
    [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
  };
}

/** Prometheus's own linter refuses these names of the library's. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
  "nodejs_eventloop_utilization_histogram",
  "nodejs_eventloop_utilization_summary",
];

let registry: Registry | undefined;

/**
 * One for the whole process, whoever asks: what the library starts to observe it (a timer, the garbage
 * collector's and the event loop's monitors) can never be stopped again. None of it keeps the process alive.
 */
function processRegistry(): Registry {
  if (registry === undefined) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
    for (const name of MISNAMED) registry.removeSingleMetric(name);
  }
  return registry;
}
