import type { SavedIncident, SavedPoll } from "./state.ts";

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
