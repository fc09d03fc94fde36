import { collectDefaultMetrics, Registry } from "prom-client";
import { renderExposition } from "../core/exposition.ts";
import type { MetricsSnapshot } from "../core/snapshot.ts";

export interface Metrics {
  /** The snapshot is taken and rendered before this returns; only the process's own numbers come later. */
  render(): Promise<string>;
}

export function createMetrics(snapshot: () => MetricsSnapshot): Metrics {
  return {
    async render() {
      const ours = renderExposition(snapshot());
      return ours + (await processRegistry().metrics());
    },
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
