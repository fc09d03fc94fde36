import type { SavedPoll } from "../history/state.ts";
import { keepNewest } from "../../platform/remembered.ts";
import type { KeyedRow } from "./tables.ts";

/** Rows of a group without one are never dropped. */
export type BufferBounds = { readonly polls: number } & Readonly<Partial<Record<Group, number>>>;

type Group = KeyedRow["table"] | "leastNotes";

/** Rows that wait to be written. */
export type Waiting = {
  readonly polls: readonly SavedPoll[];
  readonly rows: readonly KeyedRow[];
};

/** Rows wait here to be written. There are at most so many: the oldest are dropped, and polls are counted as lost. */
export class StateBuffer {
  readonly #bounds: BufferBounds;
  #polls: SavedPoll[] = [];
  /** Only the last row of a key is written. */
  readonly #rows = new Map<Group, Map<string, KeyedRow>>();
  #lostPolls = 0;

  constructor(bounds: BufferBounds) {
    this.#bounds = bounds;
  }

  get waitingPolls(): number {
    return this.#polls.length;
  }

  get isEmpty(): boolean {
    return this.#polls.length === 0 && this.#rows.size === 0;
  }

  addPoll(poll: SavedPoll): void {
    this.#polls.push(poll);
    this.#dropOldestPolls();
  }

  put(row: KeyedRow): void {
    const { table, key, isLeast } = row;
    const group = isLeast ? "leastNotes" : table;
    const { [group]: most = Infinity } = this.#bounds;
    const rows = this.#rows.get(group) ?? new Map<string, KeyedRow>();
    this.#rows.set(group, rows);
    // A note may have become one that is needed least.
    if (table === "notes") this.#rows.get(isLeast ? table : "leastNotes")?.delete(key);
    keepNewest(rows, key, row, most);
  }

  /** All rows, and the oldest polls. */
  take(mostPolls: number): Waiting {
    const polls = this.#polls.splice(0, mostPolls);
    return { polls, rows: this.#takeRows() };
  }

  /** Rows that could not be written wait again, before newer ones. */
  giveBack({ polls, rows }: Waiting): void {
    this.#polls = [...polls, ...this.#polls];
    for (const row of [...rows, ...this.#takeRows()]) this.put(row);
    this.#dropOldestPolls();
  }

  /** Nobody knows whether these were written. A row may be written again; a poll would be counted twice. */
  giveUp({ polls, rows }: Waiting): void {
    this.#lostPolls += polls.length;
    this.giveBack({ polls: [], rows });
  }

  /** How many polls were lost since the last call. */
  takeLost(): number {
    const lost = this.#lostPolls;
    this.#lostPolls = 0;
    return lost;
  }

  #takeRows(): readonly KeyedRow[] {
    const taken = [...this.#rows.values()].flatMap((rows) => [...rows.values()]);
    this.#rows.clear();
    return taken;
  }

  #dropOldestPolls(): void {
    const excess = this.#polls.length - this.#bounds.polls;
    if (excess > 0) this.#lostPolls += this.#polls.splice(0, excess).length;
  }
}
