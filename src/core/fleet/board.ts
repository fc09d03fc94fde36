/** Where the replicas of one fleet meet: who is there, and who holds what. Each call is one atomic step. */

/** What every call carries. */
export type Caller = {
  readonly session: string;
  readonly ttlMs: number;
  /** The latest that the board's clock can show now, as the caller reckons; undefined before the first answer. */
  readonly expectedMs: number | undefined;
  /** The caller was told of a step already, and has asked again: it was no late message. */
  readonly isStepSure: boolean;
};

export type BeatRequest = Caller & {
  /** A new session begins; else one that has ended is `lost`. */
  readonly joins: boolean;
  /** What the others are to know of this replica. */
  readonly info: string;
  /** Holders are told from here on; all of them where the epoch is another. */
  readonly epoch: string;
  readonly version: number;
  readonly mostChanges: number;
};

export type ClaimRequest = Caller & {
  readonly upstreams: readonly string[];
  /** The caller holds them by its own clock, and only the board forgot: allowed while all else must wait. */
  readonly retakes: boolean;
  /** Whether it may take from sessions that ended without a word: not before it would know of a stepped clock. */
  readonly inherits: boolean;
};

export type ReleaseRequest = Caller & {
  readonly upstreams: readonly string[];
  readonly endsSession: boolean;
};

export type LiveSession = { readonly session: string; readonly endsInMs: number; readonly info: string };

/** Undefined: released. */
export type HolderChange = { readonly upstream: string; readonly holder: string | undefined };

export type Claimed = {
  readonly upstream: string;
  /** Since when nobody held it; undefined where that is not known. */
  readonly unheldMs: number | undefined;
};

/** The board's clock, and which memory of the board answers: it changes when the board was emptied or replaced. */
type Place = { readonly serverMs: number; readonly epoch: string };

/** `away`: no answer. `stepped`: the board's clock is ahead of what the caller expected. */
type NoAnswer = { readonly kind: "away" } | { readonly kind: "stepped" };

export type BeatAnswer =
  | (Place & {
      readonly kind: "beat";
      /** How long only what was held before may be claimed. */
      readonly opensInMs: number;
      readonly sessions: readonly LiveSession[];
      /** Whether `changes` begin anew, rather than add to what was told before. */
      readonly isWhole: boolean;
      readonly changes: readonly HolderChange[];
      /** Of the last of the changes. */
      readonly version: number;
      readonly hasMore: boolean;
    })
  | (Place & { readonly kind: "lost" })
  | NoAnswer;

export type ClaimAnswer =
  | (Place & { readonly kind: "claimed"; readonly claimed: readonly Claimed[] })
  | (Place & { readonly kind: "settling"; readonly opensInMs: number })
  | (Place & { readonly kind: "lost" })
  | NoAnswer;

export type ReleaseAnswer = (Place & { readonly kind: "released" }) | NoAnswer;

export interface FleetBoard {
  beat(request: BeatRequest): Promise<BeatAnswer>;
  claim(request: ClaimRequest): Promise<ClaimAnswer>;
  release(request: ReleaseRequest): Promise<ReleaseAnswer>;
  /** What is to be known of upstreams by all, as text. Answers whether it got there. */
  publish(entries: ReadonlyMap<string, string>): Promise<boolean>;
  /** Undefined without an answer. */
  published(): Promise<ReadonlyMap<string, string> | undefined>;
}

/** A clock that is ahead by more than this part of a session's time was stepped. */
export const STEP_TOLERANCE = 0.1;
