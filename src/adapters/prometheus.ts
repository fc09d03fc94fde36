import { collectDefaultMetrics, Registry } from "prom-client";
import { expositionPieces } from "../core/exposition.ts";
import type { MetricsSnapshot } from "../core/snapshot.ts";
import { textInTurns, type TextStream } from "./text-in-turns.ts";

export interface Metrics {
  /** The snapshot is taken before this returns, and written as it is read; the process's own numbers come last. */
  render(): TextStream;
}

export function createMetrics(snapshot: () => MetricsSnapshot, onBug: (error: unknown) => void): Metrics {
  return {
    render: () => textInTurns(expositionPieces(snapshot()), () => processRegistry().metrics(), onBug),
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
