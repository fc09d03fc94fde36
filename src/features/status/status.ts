/**
 * What the page and the JSON API show. The facts of one upstream are plain, and of the moment when they are asked for. An
 * answer about thousands of them is made in turns of the loop, so the last is read some polls later than the first.
 * All times are wall-clock milliseconds. An unknown fact is absent from the JSON, never 0.
 */

import type { Objective, Vantage } from "../../kernel/config/config.ts";
import type { Burn, ValuePoint } from "../history/credit.ts";
import type { Announcement } from "../announcements/announcement.ts";
import type { RateStatus } from "../../kernel/budget/ledger.ts";
import type { KnownLimit } from "../hints/learned-windows.ts";
import type { QuotaSnapshot } from "../quota/standing.ts";
import type { Incident } from "../history/incidents.ts";
import type { PollStatus, SkipCount } from "../history/kept-poll.ts";
import type { AvailabilityWindow, Missed } from "../history/availability.ts";
import type { HealthState } from "../../kernel/poll/health.ts";
import type { Schedule } from "../../kernel/schedule/schedule.ts";
import type { Columns, LatencyQuantiles, Range } from "../history/timeline.ts";
import type { QuotaForecast } from "../quota/quota-forecast.ts";

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

/** A number that the answers tell. */
export type ValueStatus = {
  readonly name: string;
  /** Empty if it has none. */
  readonly unit: string;
  /** Undefined once it was not seen for long. */
  readonly value: number | undefined;
  readonly seenAtMs: number | undefined;
  /** What stands in its place, which is no number. */
  readonly found?: string | undefined;
  /** Only of a credit that is known, or whose end was before it could no longer be read. */
  readonly credit?: ForecastStatus & { readonly burns: readonly Burn[] };
};

type ForecastStatus = {
  /** For people: "At the pace of the last day, empty on Tuesday about 14:00 UTC." */
  readonly sentence: string;
  /** By the worst pace; undefined if it is not in sight. */
  readonly emptyAtMs: number | undefined;
};

export type ShownPoint = Pick<ValuePoint, "atMs" | "value">;

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

export type UpstreamFacts = UpstreamSummary & {
  readonly budgets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** Of the config; absent where it has none. */
  readonly links?: Readonly<Record<string, string>> | undefined;
  readonly schedule: Pick<Schedule, "source" | "longestGapMs">;
  /** Between most slots. */
  readonly usualGapMs: number;
  readonly objective: Objective;
  /** An ok poll above this is slow. */
  readonly degradedAboveMs: number;
  /** 0 when not paused. Its budget may be paused too. */
  readonly pausedUntilMs: number;
  readonly nextSlotAtMs: number | undefined;
  readonly certificateExpiresAtMs: number | undefined;
  /** The end of its API, as its newest answers announce it. */
  readonly announcement: Announcement | undefined;
  /** In the order of the config; absent where it has none. */
  readonly values?: readonly ValueStatus[];
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

export type BudgetStatus = {
  readonly name: string;
  readonly share: number;
  /** Absent where nobody else watches. */
  readonly vantage?: Vantage | undefined;
  readonly rates: readonly RateStatus[];
  /** What the upstream advertised last. */
  readonly advertised:
    | { readonly limit: number | undefined; readonly remaining: number | undefined }
    | undefined;
  /** Each limit that it spoke of, whatever it counts. */
  readonly limits?: readonly LimitStatus[];
  /** 0 when not paused. */
  readonly pausedUntilMs: number;
  /** Why a refusal was taken for one of this budget: the upstream draws on others too. Absent where it could be no other's. */
  readonly pausedBecause?: string;
  readonly quota: QuotaSnapshot | undefined;
  /** Absent where there is none. */
  readonly spend?: QuotaSnapshot;
  /** When they are used up: our own, and those of a day and more that answers tell. Absent where there is none. */
  readonly quotas?: readonly (ForecastStatus & QuotaForecast)[];
};

/** While `perMs` is not known, it lowers nothing. */
export type LimitStatus = Omit<KnownLimit, "key" | "resetMs"> & {
  /** For people: "5 requests per 1s, learned from its resets". */
  readonly sentence: string;
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
  /** In the order of the config. Thousands: each is made when it is reached. */
  readonly upstreams: Iterable<UpstreamSummary>;
  /** Undefined if no upstream has this name. */
  facts(upstream: string): UpstreamFacts | undefined;
  /** The newest first. */
  incidentsOf(upstream: string): readonly Incident[];
  /** As far as they are in memory: none of an upstream without this name. */
  columns(upstream: string, range: Range): Columns;
  /** Of the last week, the newest last. */
  valueHistory(upstream: string, value: string): readonly ShownPoint[];
  /** By name. */
  readonly budgets: readonly string[];
  budget(name: string): BudgetStatus | undefined;
};

/** A query may hold a key, and a fragment is never sent: neither is shown. */
export function urlWithoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, "");
}
