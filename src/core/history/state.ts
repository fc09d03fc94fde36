/** The port of the state file: what survives a restart. */

import type { Recorder } from "../poll/ports.ts";
import type { LearnedWindow } from "../budget/learned-windows.ts";
import type { QuotaFile } from "../budget/journaled-ledger.ts";
import type { QuotaRow } from "../budget/quota.ts";
import type { CountedBucket } from "./rolling-counts.ts";
import type { Incident, PollStatus } from "../status/status.ts";
import type { ValuePoint } from "../answer/credit.ts";
import type { SavedValue } from "./kept-values.ts";

export type SavedPoll = {
  readonly upstream: string;
  readonly endedAtMs: number;
  readonly withinObjective: boolean;
  readonly status: PollStatus;
};

/** What one upstream continues with after a restart. Not its health: it has not been polled yet. */
export type RestoredUpstream = {
  /** The newest last, as are failures and buckets. */
  readonly polls: readonly PollStatus[];
  readonly failures: readonly PollStatus[];
  /** The newest first; at most the first one is still open. */
  readonly incidents: readonly Incident[];
  readonly minutes: readonly CountedBucket[];
  readonly hours: readonly CountedBucket[];
  readonly values: readonly SavedValue[];
};

/** What the recorder of the state file reads after each event. */
export type SavedHistory = {
  readonly newestIncident: Incident | undefined;
  readonly values: { newest(name: string): ValuePoint | undefined };
};

/** Keeps everything in a file while it can. Never blocks polls. */
export interface StateStore extends QuotaFile {
  /** Whether records reach the file now. */
  readonly isUp: boolean;
  /** Returned once: an upstream that is removed and comes back later begins with its values alone, from memory. */
  restored(upstream: string): RestoredUpstream | undefined;
  /** What earlier processes sent, or may have sent. */
  readonly restoredQuotas: readonly QuotaRow[];
  /** By budget: the windows of limits that do not say theirs. */
  readonly restoredWindows: ReadonlyMap<string, readonly LearnedWindow[]>;
  /** Must get each event after `history`: it saves the incident and the values that came of it. */
  recorderOf(upstream: string, history: SavedHistory): Recorder;
  /** Reads all rows after trouble: the file may be a new one. */
  keepQuotas(read: () => readonly QuotaRow[]): void;
  /** Reads at every flush, by budget, and writes what has changed. */
  keepWindows(read: () => ReadonlyMap<string, readonly LearnedWindow[]>): void;
  /** Writes what is left, if it can. Takes some seconds at most. */
  close(): Promise<void>;
}

/** A poll that is in the file already, and was found to have failed because we were offline. */
export type FoundOffline = {
  readonly upstream: string;
  readonly pollId: string;
  readonly endedAtMs: number;
};
