/**
 * What the page and the JSON API show. The facts of one upstream are plain, and of the moment when they are asked for. An
 * answer about thousands of them is made in turns of the loop, so the last is read some polls later than the first.
 * All times are wall-clock milliseconds. An unknown fact is absent from the JSON, never 0.
 */

import type { Objective, Vantage } from "../../kernel/config/config.ts";
import type { RateStatus } from "../../kernel/budget/ledger.ts";
import type { Incident } from "../history/incidents.ts";
import type { PollStatus, SkipCount } from "../history/kept-poll.ts";
import type { AvailabilityWindow, Missed } from "../history/availability.ts";
import type { HealthState } from "../../kernel/poll/health.ts";
import type { Schedule } from "../../kernel/schedule/schedule.ts";
import type { Columns, LatencyQuantiles, Range } from "../history/timeline.ts";
import type { Fields } from "../../kernel/text/field.ts";

export type ReloadStatus = {
  readonly successful: boolean;
  readonly lastSuccessAtMs: number;
  /** The first of the config that was refused last. */
  readonly fault?: string | undefined;
};

export type HealthStatus = {
  readonly state: HealthState;
  readonly sinceMs: number;
  /** The value of `upstream_up`: confirmed, and not changed by throttling or a rejected key. */
  readonly up: boolean | undefined;
};

/** slots = polls + inFlight + skipped, at every moment. A waiting slot is not counted yet. */
export type SlotCounts = {
  readonly slots: number;
  readonly polls: number;
  readonly inFlight: number;
  readonly waiting: number;
  readonly skipped: number;
};

/** Something runs out: a credit, a quota. */
export type Ending = {
  readonly name: string;
  /** For people: "At the pace of the last day, empty on Tuesday about 14:00 UTC." */
  readonly sentence: string;
  /** Undefined if it is not in sight. */
  readonly atMs: number | undefined;
};

/** A list of upstreams is sorted and counted by these, so each of them has one. */
export type UpstreamSummary = {
  readonly name: string;
  /** Without its query. */
  readonly url: string;
  readonly health: HealthStatus;
  readonly counts: SlotCounts;
  readonly lastPoll: PollStatus | undefined;
  /** What of its objective it missed in the last hour; empty too while too little was watched. */
  readonly missedLastHour: readonly Missed[];
  /** When the first of its credits is empty; absent while none ends. */
  readonly creditEndsAtMs?: number;
};

/** Features add their facts to these, under names of their own. */
export type UpstreamFacts = UpstreamSummary & {
  readonly method: string;
  readonly budgets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** Of the config; absent where it has none. */
  readonly links?: Readonly<Record<string, string>> | undefined;
  readonly schedule: Pick<Schedule, "source" | "longestGapMs">;
  readonly objective: Objective;
  /** An ok poll above this is slow. */
  readonly degradedAboveMs: number;
  /** 0 when not paused. Its budget may be paused too. */
  readonly pausedUntilMs: number;
  readonly nextSlotAtMs: number | undefined;
  readonly certificateExpiresAtMs: number | undefined;
  /** Only causes that occurred. */
  readonly skips: readonly SkipCount[];
  /** The skips since the last poll. */
  readonly skippedSincePoll: readonly SkipCount[];
  readonly latency: LatencyQuantiles | undefined;
  readonly availability: readonly AvailabilityWindow[];
  /** Bounded, the newest last. */
  readonly lastPolls: readonly PollStatus[];
  /** Bounded, the newest last. Kept even after newer successes have pushed them out of `lastPolls`. */
  readonly lastFailures: readonly PollStatus[];
};

/** Features add their facts here too. */
export type BudgetStatus = {
  readonly name: string;
  readonly share: number;
  /** Absent where nobody else watches. */
  readonly vantage?: Vantage | undefined;
  readonly rates: readonly RateStatus[];
  /** 0 when not paused. */
  readonly pausedUntilMs: number;
  /** Why the answer that it pauses for was taken for one of this budget: its upstream draws on others too. Absent where it could be no other's. */
  readonly pausedBecause?: string;
};

/** One process of a fleet, as it sees who leads. */
export type FleetStatus = {
  /** Of this process. */
  readonly name: string;
  readonly isLeading: boolean;
  /** Undefined while nobody is known to lead. */
  readonly leader:
    | { readonly name: string; readonly url?: string | undefined; readonly sinceMs: number }
    | undefined;
  /** Since when the lock has not answered; absent while it does. */
  readonly lockAwaySinceMs?: number;
  /** What stands at the lock's place is not ours, or of a newer version. */
  readonly isForeign?: true;
};

export type Status = {
  readonly version: string;
  readonly startedAtMs: number;
  readonly nowMs: number;
  readonly ready: boolean;
  /** Absent where nobody else watches. */
  readonly vantage?: Vantage | undefined;
  /** Absent without a fleet. */
  readonly fleet?: FleetStatus | undefined;
  /** No upstream can be reached: our own network is the likely cause. */
  readonly offline: boolean;
  /** Whether history survives a restart; undefined without a state file. */
  readonly stateStoreUp: boolean | undefined;
  /** A damaged state file was moved aside within the last day. */
  readonly stateLostAtMs: number | undefined;
  /** Not successful if the config file has changed and the new config is invalid. */
  readonly lastReload: ReloadStatus;
  /** Of all upstreams, in the order of the config. */
  readonly names: Iterable<string>;
  /** Those that are watched, in the same order. Thousands: each is made when it is reached. */
  readonly upstreams: Iterable<UpstreamSummary>;
  /** Undefined if no upstream has this name. */
  facts(upstream: string): UpstreamFacts | undefined;
  /** The newest first. */
  incidentsOf(upstream: string): readonly Incident[];
  /** As far as they are in memory: none of an upstream without this name. */
  columns(upstream: string, range: Range): Columns;
  /** Those of one upstream that features add, without the rest. */
  shown(upstream: string): Fields;
  /** Facts that are too long for a list of all upstreams. */
  details(upstream: string): Fields;
  /** By name. */
  readonly budgets: Iterable<string>;
  budget(name: string): BudgetStatus | undefined;
  endingsIn(shown: Fields): readonly Ending[];
  /** Why too little is left of a budget for a poll of this upstream; undefined while there is enough. */
  usedUp(upstream: string, budget: string): string | undefined;
  /** For those who hear that it is not well. */
  remarksOn(upstream: UpstreamFacts): readonly string[];
};
