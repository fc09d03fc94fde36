import { DAY_MS } from "../time/duration.ts";

/** The board of a fleet (in Redis): live sessions, and who holds what. Each call is one atomic step. */

/** Part of every call. */
export type Caller = {
  readonly session: string;
  readonly ttlMs: number;
  /** The latest time that the board's clock can show now, by the caller; undefined before the first answer. */
  readonly expectedMs: number | undefined;
  /** The caller asks again after `stepped`, so it was not a late message. */
  readonly isStepSure: boolean;
};

export type BeatRequest = Caller & {
  /** Begins a new session. Otherwise a session that has ended is `lost`. */
  readonly joins: boolean;
  /** What other replicas see of this one. */
  readonly info: string;
  /** The answer brings the changes after this version; all holders if the epoch differs. */
  readonly epoch: string;
  readonly version: number;
  readonly mostChanges: number;
};

export type ClaimRequest = Caller & {
  readonly upstreams: readonly string[];
  /** The board lost its data, but the caller's session is valid by its own clock: allowed while others must wait. */
  readonly retakes: boolean;
  /** May take over from sessions that expired. A new session may not: it cannot know of a stepped clock. */
  readonly inherits: boolean;
};

export type ReleaseRequest = Caller & {
  readonly upstreams: readonly string[];
  readonly endsSession: boolean;
};

export type LiveSession = {
  readonly session: string;
  readonly endsInMs: number;
  readonly info: string;
  /** How long its replica is on trial: while others are past theirs, it is given no upstreams. */
  readonly trialEndsInMs: number;
};

/** Undefined: released. */
export type HolderChange = { readonly upstream: string; readonly holder: string | undefined };

export type Claimed = {
  readonly upstream: string;
  /** How long nobody held it; undefined if that is not known, or more than a day. */
  readonly unheldMs: number | undefined;
};

/** The board's clock, and its epoch, which changes when the board lost its data or was replaced. */
type BoardMoment = { readonly serverMs: number; readonly epoch: string };

/** `away`: no answer. `stepped`: the board's clock is ahead of what the caller expected. */
type NoAnswer = { readonly kind: "away" } | { readonly kind: "stepped" };

export type BeatAnswer =
  | (BoardMoment & {
      readonly kind: "beat";
      /** How long a new board only lets replicas retake what they held. */
      readonly opensInMs: number;
      readonly sessions: readonly LiveSession[];
      /** `changes` replace everything known so far, rather than add to it. */
      readonly isWhole: boolean;
      readonly changes: readonly HolderChange[];
      /** Version of the last change. */
      readonly version: number;
      readonly hasMore: boolean;
    })
  | (BoardMoment & { readonly kind: "lost" })
  | NoAnswer;

export type ClaimAnswer =
  | (BoardMoment & { readonly kind: "claimed"; readonly claimed: readonly Claimed[] })
  | (BoardMoment & { readonly kind: "settling"; readonly opensInMs: number })
  | (BoardMoment & { readonly kind: "lost" })
  | NoAnswer;

export type ReleaseAnswer = (BoardMoment & { readonly kind: "released" }) | NoAnswer;

export interface FleetBoard {
  beat(request: BeatRequest): Promise<BeatAnswer>;
  claim(request: ClaimRequest): Promise<ClaimAnswer>;
  release(request: ReleaseRequest): Promise<ReleaseAnswer>;
  /** Publishes the state of upstreams, as text. Returns whether it succeeded. */
  publish(entries: ReadonlyMap<string, string>): Promise<boolean>;
  /** Undefined without an answer. */
  published(): Promise<ReadonlyMap<string, string> | undefined>;
}

/**
 * How long a replica is on trial, in TTLs. Its death would leave what it holds unpolled for one TTL. Whoever dies
 * before it has served for ten times that is on trial for twice as long next time.
 */
export const TRIAL = { first: 1, most: 32, toServe: 10 } as const;

/** What is published is kept for so long: the state of an upstream or of a vantage that is gone must not stay. */
export const PUBLISHED_KEPT_MS: number = DAY_MS;

/** A clock that is ahead by more than this part of the TTL was stepped. */
export const STEP_TOLERANCE = 0.1;
