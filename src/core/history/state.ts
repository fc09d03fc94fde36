/** What survives a restart: the port of the state file, its rows, and the buffer before it. */

import type { Recorder } from "../poll/ports.ts";
import type { LearnedWindow, WindowRow } from "../budget/learned-windows.ts";
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

/** What one upstream continues with after a restart. Not its health: it has not been polled yet. */
export type RestoredUpstream = {
  /** The newest last, as are failures and buckets. */
  readonly polls: readonly PollStatus[];
  readonly failures: readonly PollStatus[];
  /** The newest first; at most the first one is still open. */
  readonly incidents: readonly Incident[];
  readonly minutes: readonly CountedBucket[];
  readonly hours: readonly CountedBucket[];
};

/** Keeps everything in a file while it can. Never blocks polls. */
export interface StateStore {
  /** Whether records reach the file now. */
  readonly isUp: boolean;
  /** Returned once: an upstream that is removed and comes back later begins with nothing. */
  restored(upstream: string): RestoredUpstream | undefined;
  /** By budget: what earlier processes sent, or may have sent. */
  readonly restoredQuotas: ReadonlyMap<string, QuotaBuckets>;
  /** By budget: the windows of limits that do not say theirs. */
  readonly restoredWindows: ReadonlyMap<string, readonly LearnedWindow[]>;
  /** Must get each event after `history`: it saves the incident that came of it. */
  recorderOf(upstream: string, history: { readonly newestIncident: Incident | undefined }): Recorder;
  /** Reads at every flush. Resolves when requests may be sent: the first reserve is in the file, or the file is down. */
  keepQuotas(read: () => ReadonlyMap<string, QuotaReading>): Promise<void>;
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

export type StateRows = {
  readonly polls: readonly SavedPoll[];
  readonly foundOffline: readonly SavedAsTheirs[];
  readonly incidents: readonly SavedIncident[];
};

export type BufferBounds = { readonly mostPolls: number; readonly mostIncidents: number };

/** Rows that wait to be written. Bounded: the oldest are dropped, and counted as lost. */
export class StateBuffer {
  readonly #bounds: BufferBounds;
  #polls: SavedPoll[] = [];
  /** Only the last state of an incident is written. */
  #incidents = new Map<string, SavedIncident>();
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

  /** All incidents, and the oldest polls. */
  take(mostPolls: number): StateRows {
    const polls = this.#polls.splice(0, mostPolls);
    const incidents = [...this.#incidents.values()];
    this.#incidents.clear();
    const foundOffline = this.#foundOffline;
    this.#foundOffline = [];
    return { polls, foundOffline, incidents };
  }

  /** Rows that could not be written wait again, before newer ones. */
  giveBack({ polls, foundOffline, incidents }: StateRows): void {
    this.#polls = [...polls, ...this.#polls];
    this.#foundOffline = [...foundOffline, ...this.#foundOffline];
    const since = this.#incidents;
    this.#incidents = new Map(incidents.map((incident) => [keyOf(incident), incident]));
    for (const [key, incident] of since) this.#incidents.set(key, incident);
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
    for (const key of this.#incidents.keys()) {
      if (this.#incidents.size <= this.#bounds.mostIncidents) break;
      this.#incidents.delete(key);
    }
  }
}

function keyOf({ startedAtMs, upstream }: SavedIncident): string {
  return `${startedAtMs} ${upstream}`;
}
