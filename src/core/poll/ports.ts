import type { Observation } from "../exchange/exchange.ts";
import type { HealthChange } from "./health.ts";
import type { Poll } from "./poll.ts";
import type { SkipCause } from "../exchange/outcome.ts";

export interface Probe {
  /**
   * Sends one request. Never rejects for anything that an upstream does, and resolves only when a broken
   * exchange's socket is really closed: a lease is settled by that moment. `mayWrite` is asked at once before the
   * request is written; where it says no, the poll ends with nothing sent.
   */
  poll(signal: AbortSignal, mayWrite?: () => boolean): Promise<Observation>;
  close(): Promise<void>;
}

/** Hears everything that happens to one upstream. Metrics, history and log each are one. */
export interface Recorder {
  slotWaiting(): void;
  /** A waiting slot got its lease: a slot always waits first, if only for an instant. */
  slotStarted(): void;
  /** Slots that never waited. */
  slotSkipped(cause: SkipCause, count: number): void;
  /** A waiting slot ends as skipped. */
  slotGaveUp(cause: SkipCause): void;
  polled(poll: Poll): void;
  /** Follows the `polled` that caused it, if one did. */
  healthChanged(change: HealthChange): void;
}
