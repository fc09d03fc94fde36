/** What outlives the process: the port of the state file, and the plain rows that go through it. */

import type { Recorder } from "../poll/ports.ts";
import type { QuotaBuckets } from "../budget/quota.ts";
import type { QuotaReading } from "../budget/quota-journal.ts";
import type { CountedBucket } from "./rolling-counts.ts";
import type { Incident, PollStatus } from "../status/status.ts";

export type SavedPoll = {
  readonly upstream: string;
  readonly endedAtMs: number;
  readonly withinObjective: boolean;
  readonly status: PollStatus;
};

export type SavedIncident = Incident & { readonly updatedAtMs: number };

/** What one upstream goes on with after a restart. Its health is not among it: nobody has looked yet. */
export type RestoredUpstream = {
  /** The newest last, as are failures and buckets. */
  readonly polls: readonly PollStatus[];
  readonly failures: readonly PollStatus[];
  /** The newest first; at most the first one is still open. */
  readonly incidents: readonly Incident[];
  readonly minutes: readonly CountedBucket[];
  readonly hours: readonly CountedBucket[];
};

/** Keeps everything in a file as long as it can, and never holds up whoever it listens to. */
export interface StateStore {
  /** Whether what is recorded now reaches the file. */
  readonly isUp: boolean;
  /** Handed over once: whoever was removed and comes back later begins anew. */
  restored(upstream: string): RestoredUpstream | undefined;
  /** By budget: what was sent in former lives, or may have been. */
  readonly restoredQuotas: ReadonlyMap<string, QuotaBuckets>;
  /** Must hear of everything after `history` did: it saves the incident that came of it. */
  recorderOf(upstream: string, history: { readonly newestIncident: Incident | undefined }): Recorder;
  /** Read at every flush. Resolves when requests may be sent: their first reserve is in the file, or it is down. */
  keepQuotas(read: () => ReadonlyMap<string, QuotaReading>): Promise<void>;
  /** Writes what is left, if it can; never takes longer than some seconds. */
  close(): Promise<void>;
}
