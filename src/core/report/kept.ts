/** What the state file has for a report: sums of whole hours, and incidents with their evidence. */

import type { Incident, PollStatus } from "../status/status.ts";

/** Of one upstream and one day. The numbers of minutes are of those hours that have them. */
export type DaySums = {
  readonly upstream: string;
  /** As the day is called. */
  readonly day: string;
  readonly polls: number;
  readonly ok: number;
  readonly failed: number;
  readonly throttled: number;
  readonly rejected: number;
  readonly offline: number;
  readonly withinObjective: number;
  readonly okMs: number;
  readonly slowestMs: number;
  readonly watchedMinutes: number;
  readonly allFailedMinutes: number;
  /** With at least one failure, with at least two, and so on. */
  readonly failedMinutes: readonly number[];
  /** Hours that an earlier version has written: nothing is known of their minutes. */
  readonly hoursWithoutMinutes: number;
};

export type KeptIncident = Incident & {
  readonly evidence: readonly PollStatus[];
  /** When it was written last. */
  readonly seenAtMs: number;
};

export type Kept = { readonly days: readonly DaySums[]; readonly incidents: readonly KeptIncident[] };
