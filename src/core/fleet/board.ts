/**
 * The board of a fleet (in Redis): live sessions, and who holds which budgets and upstreams. Each call is one atomic
 * step. All times are durations: the board's clock is compared with no other, stands still while nobody asks, and
 * never jumps.
 */

import type { QuotaKey } from "../budget/quota.ts";

export interface FleetBoard {
  /** Undefined, as of every call: no answer. `lost`: the board does not know this session any more. */
  beat(request: BeatRequest): Promise<Beat | "lost" | undefined>;
  /** Undefined also where nothing may be claimed now. */
  claim(request: ClaimRequest): Promise<readonly Claimed[] | undefined>;
  /** Returns whether it succeeded. */
  release(request: ReleaseRequest): Promise<boolean>;
  /** Leaves for others what they must know. Returns whether it succeeded. */
  tell(news: News): Promise<boolean>;
  /** What was told, but not of budgets. */
  records(): Promise<ReadonlyMap<string, string> | undefined>;
  count(request: CountRequest): Promise<Counted | undefined>;
}

/** Part of every call. */
export type Caller = { readonly session: string; readonly ttlMs: number };

/** A part of every cap, in the mode `everywhere`: `seat` is kept for a day, `rest` as long as the session. */
export type Shares = { readonly seat: number; readonly rest: number };

export type BeatRequest = Caller & {
  /**
   * How long ago the last beat was sent that was answered; undefined begins the session. A session whose holder has
   * stopped trusting it is not renewed, so that others take over where answers do not arrive.
   */
  readonly answeredAgoMs: number | undefined;
  /** What other replicas see of this one. */
  readonly info: string;
  /** The answer names all holders, unless nothing has changed since this version. */
  readonly version: string;
  readonly wants:
    | (Shares & {
        /** What it may use by its own clock: kept, also by a board that has lost its data. */
        readonly has: Shares;
        /** After this time nothing that was sent before counts any more. */
        readonly forgottenMs: number;
      })
    | undefined;
};

export type ClaimedBudget = {
  readonly budget: string;
  /** The holder waits so long before its first request, counted from the last one that another may have sent. */
  readonly coldMs: number;
  /** Equal for equal limits: then what was handed over in order can be used at once. */
  readonly terms: string;
  /** Of a budget that is retaken: the holder itself still waits for so long. */
  readonly waitMs: number;
};

export type ClaimRequest = Caller & {
  /** Each at once, or not at all. */
  readonly groups: readonly {
    /** As on the board. */
    readonly names: readonly string[];
    readonly budgets: readonly ClaimedBudget[];
  }[];
  /** The board lost its data, but the caller holds these by its own clock: allowed while others must wait. */
  readonly retakes: boolean;
};

export type ReleaseRequest = Caller & {
  readonly names: readonly string[];
  /** By name, when the last lease of a budget ends, so that nothing counts any more; undefined while that is not known. */
  readonly leasesEndInMs: Readonly<Record<string, number | undefined>>;
  readonly endsSession: boolean;
};

export type News = {
  readonly ttlMs: number;
  /** By name on the board. */
  readonly pauses: ReadonlyMap<string, number>;
  readonly resumed: readonly string[];
  /** By name: what its next holder must know, and what pages show. */
  readonly records: ReadonlyMap<string, string>;
};

/** What one name uses of a quota, by hour. */
export type CountRequest = {
  readonly quota: QuotaKey;
  /** Whose counts these are. */
  readonly name: string;
  readonly oldestHour: number;
  /** Only who knows what the board has may lower it: where that is not `from`, the higher one stays. */
  readonly counts: readonly { readonly hour: number; readonly from: number; readonly to: number }[];
};

export type LiveSession = {
  readonly session: string;
  readonly endsInMs: number;
  readonly info: string;
  /** How long ago its first answer arrived; undefined while that is not known. */
  readonly provenMs: number | undefined;
};

export type Claimed = {
  /** On the board. */
  readonly name: string;
  /** How long nobody held it; undefined if that is not known, or more than a day. */
  readonly unheldMs: number | undefined;
  /** Of a budget: no request before that. */
  readonly waitMs: number;
  /** What its last holder left. */
  readonly record: { readonly text: string; readonly agoMs: number } | undefined;
};

export type Granted = Shares & {
  /** Another may have used some of it before. */
  readonly isAnew: boolean;
  /** Parts of another size may still count. */
  readonly isMixed: boolean;
};

export type Beat = {
  /** The server's wall clock, only to be shown. */
  readonly wallMs: number;
  /** How long a new board only lets replicas retake what they held. */
  readonly opensInMs: number;
  readonly version: string;
  readonly sessions: readonly LiveSession[];
  /** By name; undefined if nothing has changed since the known version. */
  readonly holders: ReadonlyMap<string, string> | undefined;
  readonly pauses: ReadonlyMap<string, number>;
  readonly granted: Granted | undefined;
};

export type Counted = {
  /** What the board has of this name, by hour. */
  readonly own: ReadonlyMap<number, number>;
  /** Of all names. */
  readonly total: number;
};
