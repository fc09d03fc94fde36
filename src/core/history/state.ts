/** What survives a restart: the port of the state file, its rows, and the buffer before it. */

import type { Recorder } from "../poll/ports.ts";
import type { LearnedWindow, WindowRow } from "../budget/learned-windows.ts";
import type { QuotaFile } from "../budget/journaled-ledger.ts";
import type { QuotaBuckets } from "../budget/quota.ts";
import type { QuotaReading } from "../budget/quota-journal.ts";
import type { CountedBucket } from "./rolling-counts.ts";
import type { Incident, PollStatus } from "../status/status.ts";
import type { ValuePoint } from "../answer/credit.ts";
import { hourOf, type SavedValue } from "./kept-values.ts";

export type SavedPoll = {
  readonly upstream: string;
  readonly endedAtMs: number;
  readonly withinObjective: boolean;
  readonly status: PollStatus;
};

export type SavedIncident = Incident & { readonly updatedAtMs: number };

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
  /** By budget: what earlier processes sent, or may have sent. */
  readonly restoredQuotas: ReadonlyMap<string, QuotaBuckets>;
  /** By budget: the windows of limits that do not say theirs. */
  readonly restoredWindows: ReadonlyMap<string, readonly LearnedWindow[]>;
  /** Must get each event after `history`: it saves the incident and the values that came of it. */
  recorderOf(upstream: string, history: SavedHistory): Recorder;
  /** Reads at every flush. */
  keepQuotas(read: () => ReadonlyMap<string, QuotaReading>): void;
  /** Reads at every flush, and writes it if it changed. */
  keepWindows(read: () => readonly WindowRow[]): void;
  /** Writes what is left, if it can. Takes some seconds at most. */
  close(): Promise<void>;
}

/** A poll that is in the file already, and was found to have failed because we were offline. */
export type SavedAsTheirs = {
  readonly upstream: string;
  readonly pollId: string;
  readonly endedAtMs: number;
};

/** The newest of its hour. */
export type SavedUpstreamValue = SavedValue & { readonly upstream: string };

export type StateRows = {
  readonly polls: readonly SavedPoll[];
  readonly foundOffline: readonly SavedAsTheirs[];
  readonly incidents: readonly SavedIncident[];
  readonly values: readonly SavedUpstreamValue[];
};

export type BufferBounds = {
  readonly mostPolls: number;
  readonly mostIncidents: number;
  readonly mostValues: number;
};

/** Rows that wait to be written. Bounded: the oldest are dropped, and counted as lost. */
export class StateBuffer {
  readonly #bounds: BufferBounds;
  #polls: SavedPoll[] = [];
  /** Only the last state of an incident is written. */
  #incidents = new Map<string, SavedIncident>();
  /** Of each hour, only the last value is. */
  #values = new Map<string, SavedUpstreamValue>();
  #foundOffline: SavedAsTheirs[] = [];
  #lostPolls = 0;

  constructor(bounds: BufferBounds) {
    this.#bounds = bounds;
  }

  get waitingPolls(): number {
    return this.#polls.length;
  }

  addPoll(poll: SavedPoll): void {
    this.#polls.push(poll);
    this.#dropOldest();
  }

  /** After its poll. */
  addFoundOffline(found: SavedAsTheirs): void {
    const waiting = this.#polls.findLastIndex(({ status }) => status.id === found.pollId);
    const poll = this.#polls[waiting];
    if (poll === undefined) this.#foundOffline.push(found);
    else this.#polls[waiting] = { ...poll, status: { ...poll.status, offline: true } };
    this.#dropOldest();
  }

  addIncident(incident: SavedIncident): void {
    const key = keyOf(incident);
    this.#incidents.delete(key);
    this.#incidents.set(key, incident);
    this.#dropOldest();
  }

  addValue(value: SavedUpstreamValue): void {
    const key = keyOfValue(value);
    this.#values.delete(key);
    this.#values.set(key, value);
    this.#dropOldest();
  }

  /** All incidents and values, and the oldest polls. */
  take(mostPolls: number): StateRows {
    const polls = this.#polls.splice(0, mostPolls);
    const incidents = [...this.#incidents.values()];
    this.#incidents.clear();
    const foundOffline = this.#foundOffline;
    this.#foundOffline = [];
    const values = [...this.#values.values()];
    this.#values.clear();
    return { polls, foundOffline, incidents, values };
  }

  /** Rows that could not be written wait again, before newer ones. */
  giveBack({ polls, foundOffline, incidents, values }: StateRows): void {
    this.#polls = [...polls, ...this.#polls];
    this.#foundOffline = [...foundOffline, ...this.#foundOffline];
    const since = this.#incidents;
    this.#incidents = new Map(incidents.map((incident) => [keyOf(incident), incident]));
    for (const [key, incident] of since) this.#incidents.set(key, incident);
    const newer = this.#values;
    this.#values = new Map(values.map((value) => [keyOfValue(value), value]));
    for (const [key, value] of newer) this.#values.set(key, value);
    this.#dropOldest();
  }

  /** These will never be written. */
  lose({ polls }: StateRows): void {
    this.#lostPolls += polls.length;
  }

  /** How many polls were lost since the last call. */
  takeLost(): number {
    const lost = this.#lostPolls;
    this.#lostPolls = 0;
    return lost;
  }

  #dropOldest(): void {
    const excess = this.#polls.length - this.#bounds.mostPolls;
    if (excess > 0) this.#lostPolls += this.#polls.splice(0, excess).length;
    const tooMany = this.#foundOffline.length - this.#bounds.mostPolls;
    if (tooMany > 0) this.#foundOffline.splice(0, tooMany);
    dropOldestOf(this.#incidents, this.#bounds.mostIncidents);
    dropOldestOf(this.#values, this.#bounds.mostValues);
  }
}

function dropOldestOf(rows: Map<string, unknown>, most: number): void {
  for (const key of rows.keys()) {
    if (rows.size <= most) return;
    rows.delete(key);
  }
}

function keyOfValue(value: SavedUpstreamValue): string {
  return `${hourOf(value)} ${value.upstream} ${value.name}`;
}

function keyOf({ startedAtMs, upstream }: SavedIncident): string {
  return `${startedAtMs} ${upstream}`;
}
