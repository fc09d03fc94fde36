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

export type StateRows = {
  readonly polls: readonly SavedPoll[];
  readonly incidents: readonly SavedIncident[];
};

export type BufferBounds = { readonly mostPolls: number; readonly mostIncidents: number };

/** What waits for the state file. Bounded: the oldest gives way, and is counted as lost. */
export class StateBuffer {
  readonly #bounds: BufferBounds;
  #polls: SavedPoll[] = [];
  /** Only how an incident stands last is worth writing. */
  #incidents = new Map<string, SavedIncident>();
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
    return { polls, incidents };
  }

  /** Rows that could not be written wait again, before all that came since. */
  giveBack({ polls, incidents }: StateRows): void {
    this.#polls = [...polls, ...this.#polls];
    const since = this.#incidents;
    this.#incidents = new Map(incidents.map((incident) => [keyOf(incident), incident]));
    for (const [key, incident] of since) this.#incidents.set(key, incident);
    this.#dropOldest();
  }

  /** These will never be written. */
  lose({ polls }: StateRows): void {
    this.#lostPolls += polls.length;
  }

  /** How many polls were lost since this was asked last. */
  takeLost(): number {
    const lost = this.#lostPolls;
    this.#lostPolls = 0;
    return lost;
  }

  #dropOldest(): void {
    const excess = this.#polls.length - this.#bounds.mostPolls;
    if (excess > 0) this.#lostPolls += this.#polls.splice(0, excess).length;
    for (const key of this.#incidents.keys()) {
      if (this.#incidents.size <= this.#bounds.mostIncidents) break;
      this.#incidents.delete(key);
    }
  }
}

function keyOf({ startedAtMs, upstream }: SavedIncident): string {
  return `${startedAtMs} ${upstream}`;
}
