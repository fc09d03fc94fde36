import { type Counts, counterOf } from "../../kernel/metrics/counts.ts";
import { gauge, type Metrics, one, seconds } from "../../kernel/metrics/family.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import { ANNOUNCEMENT } from "./announcement.ts";

class Announced implements Counts {
  deprecatedAtMs: number | undefined;
  sunsetAtMs: number | undefined;

  /** A refusal may leave it out: only an ok answer without it takes it back. */
  judged({ outcome, endedAtMs, said }: Poll): void {
    const announcement = ANNOUNCEMENT.of(said);
    if (announcement === undefined && outcome.kind !== "ok") return;
    const { isDeprecated = false, deprecatedAtMs, sunsetAtMs } = announcement ?? {};
    // Said without a date: since we first heard it.
    const heardAtMs = isDeprecated ? (this.deprecatedAtMs ?? endedAtMs) : undefined;
    this.deprecatedAtMs = deprecatedAtMs ?? heardAtMs;
    this.sunsetAtMs = sunsetAtMs;
  }
}

const COUNTER = counterOf("announcement", () => new Announced());

export const ANNOUNCEMENT_METRICS: Metrics = {
  counter: COUNTER,
  upstream: {
    pacewatch_upstream_deprecation_timestamp_seconds: gauge(
      "Since when the API is deprecated, by its own word, or when it first said so without a date; absent if it does not.",
      one(({ accounts }) => seconds(COUNTER.of(accounts.counts)?.deprecatedAtMs)),
    ),
    pacewatch_upstream_sunset_timestamp_seconds: gauge(
      "When the API is expected to stop answering, by its own word; absent if it does not say.",
      one(({ accounts }) => seconds(COUNTER.of(accounts.counts)?.sunsetAtMs)),
    ),
  },
};
