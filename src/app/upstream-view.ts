import type { Objective, Upstream } from "../core/config/config.ts";
import { SKIP_CAUSES } from "../core/exchange/outcome.ts";
import {
  urlWithoutQuery,
  type AvailabilityWindow,
  type HealthStatus,
  type LatencyQuantiles,
  type PollStatus,
  type SkipCount,
  type SlotCounts,
  type UpstreamStatus,
} from "../core/status/status.ts";
import type { UpstreamRecord } from "../core/history/upstream-record.ts";
import type { Condition } from "../engine/poll/supervisor.ts";

/** How an upstream stands. Put together where somebody looks, as most look at few of thousands. */
export class UpstreamView implements UpstreamStatus {
  readonly #upstream: Upstream;
  readonly #watch: UpstreamRecord;
  readonly #condition: Condition;
  readonly #nowMs: number;
  #lastPolls: readonly PollStatus[] | undefined;

  constructor(upstream: Upstream, watch: UpstreamRecord, condition: Condition, nowMs: number) {
    this.#upstream = upstream;
    this.#watch = watch;
    this.#condition = condition;
    this.#nowMs = nowMs;
  }

  get name(): string {
    return this.#upstream.name;
  }

  get url(): string {
    return urlWithoutQuery(this.#upstream.url);
  }

  get budget(): string {
    return this.#upstream.budget;
  }

  get labels(): Upstream["labels"] {
    return this.#upstream.labels;
  }

  get schedule(): UpstreamStatus["schedule"] {
    const { source, longestGapMs } = this.#upstream.schedule;
    return { source, longestGapMs };
  }

  get objective(): Objective {
    return this.#upstream.objective;
  }

  get degradedAboveMs(): number | undefined {
    return this.#upstream.degradedAboveMs;
  }

  get health(): HealthStatus {
    const { state, isUp } = this.#condition.health;
    return { state, sinceMs: this.#watch.history.sinceMs, up: isUp };
  }

  get pausedUntilMs(): number {
    return this.#condition.pausedUntilMs;
  }

  get nextSlotAtMs(): number | undefined {
    return this.#condition.nextSlotAtMs;
  }

  get certificateExpiresAtMs(): number | undefined {
    return this.#watch.accounts.certificateExpiresAtMs;
  }

  get counts(): SlotCounts {
    const { slots, totalPolls, inFlight, waiting, totalSkipped } = this.#watch.accounts;
    return { slots, polls: totalPolls, inFlight, waiting, skipped: totalSkipped };
  }

  get skips(): readonly SkipCount[] {
    const { accounts } = this.#watch;
    return SKIP_CAUSES.map((cause) => ({ cause, count: accounts.skipped(cause) })).filter(
      ({ count }) => count > 0,
    );
  }

  get skippedSincePoll(): readonly SkipCount[] {
    return this.#watch.history.skippedSincePoll;
  }

  get latency(): LatencyQuantiles | undefined {
    return this.#watch.history.latency;
  }

  get availability(): readonly AvailabilityWindow[] {
    return this.#watch.history.availability(this.#nowMs);
  }

  get lastPolls(): readonly PollStatus[] {
    return (this.#lastPolls ??= this.#watch.history.lastPolls);
  }

  get lastFailures(): readonly PollStatus[] {
    return this.#watch.history.lastFailures;
  }
}
