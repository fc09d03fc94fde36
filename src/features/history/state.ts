/** The port of the state file: what survives a restart. */

import type { Poll } from "../../kernel/poll/poll.ts";
import type { Recorder } from "../../kernel/poll/ports.ts";
import type { Note, NoteHome } from "../../kernel/text/notes.ts";
import type { PackedPolls } from "./poll-ring.ts";
import type { PackedCounts } from "./rolling-counts.ts";
import type { Columns } from "./timeline.ts";
import { DAY_MS } from "../../kernel/time/duration.ts";
import type { SavedValue, Tracks } from "./tracks.ts";
import type { PollStatus } from "./kept-poll.ts";
import type { Incident } from "./incidents.ts";

/** What a poll adds to a sum of its hour, by name. */
export type Tally = { readonly name: string; readonly units: number };

export type SavedPoll = {
  readonly upstream: string;
  readonly endedAtMs: number;
  readonly withinObjective: boolean;
  readonly watchedMs: number;
  readonly status: PollStatus;
  /** If nobody polls it by then, its state is not known any more. Wall clock. */
  readonly knownUntilMs?: number | undefined;
  readonly tally?: Tally | undefined;
};

/** What one upstream continues with after a restart. Its health follows from its last poll and its newest incident. */
export type RestoredUpstream = {
  readonly polls: PackedPolls;
  /** The newest last. */
  readonly failures: readonly PollStatus[];
  /** The newest first; at most the first one is still open. */
  readonly incidents: readonly Incident[];
  /** Of the newest incident, unless its end was seen. */
  readonly evidence: readonly PollStatus[];
  readonly minutes: PackedCounts;
  readonly hours: PackedCounts;
  readonly values: readonly SavedValue[];
  /** Of its newest poll. */
  readonly knownUntilMs?: number | undefined;
};

/** What the recorder of the state file reads after each event. */
export type SavedHistory = {
  readonly newestIncident: Incident | undefined;
  readonly knownUntilMs: number;
  readonly evidence: { of(incident: Incident): readonly PollStatus[] };
  readonly tracks: Pick<Tracks, "onTracked">;
};

/** Of one upstream, at most of a day, or of 90 in columns of a day. */
export type ColumnsQuestion = {
  readonly upstream: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly columnMs: number;
};

/** Keeps everything in a file while it can. Never blocks polls. */
export interface StateStore extends NoteHome {
  /** When a damaged file was found last, with what it knew. Wall clock; undefined if none is kept. */
  readonly lostAtMs: number | undefined;
  /** Whether records reach the file now. */
  readonly isUp: boolean;
  /** Returned once: an upstream that is removed and comes back later begins with its values and incidents, from memory. */
  restored(upstream: string): RestoredUpstream | undefined;
  /** Those that are not restored yet, and had an incident when they were seen last. */
  readonly inAnIncident: readonly string[];
  /** Earlier processes left these. */
  readonly notes: readonly Note[];
  /** They are not all that there was. */
  readonly isLoss: boolean;
  /** Undefined where it cannot tell. */
  columns(question: ColumnsQuestion): Promise<Columns | undefined>;
  /** Must get each event after `history`: it saves the incident and the values that came of it. */
  recorderOf(upstream: string, history: SavedHistory, tallyOf?: (poll: Poll) => Tally | undefined): Recorder;
  /** Reads all notes after a loss or trouble: the file may be a new one. */
  readAfterTrouble(read: () => readonly Note[]): void;
  /** Writes what is left, if it can. Takes some seconds at most. */
  close(): Promise<void>;
}

/** Minutes with at least so many failed polls are counted. */
export const FAILURES_COUNTED = [1, 2, 3, 4, 5] as const;

/** What a day ago was lost is no news. */
export function lostAtMs(store: Pick<StateStore, "lostAtMs"> | undefined, nowMs: number): number | undefined {
  const atMs = store?.lostAtMs;
  return atMs !== undefined && Math.abs(nowMs - atMs) < DAY_MS ? atMs : undefined;
}
