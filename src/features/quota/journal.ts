import type { QuotaRow } from "./quota.ts";
import type { BudgetRecord } from "../hints/record.ts";

/** What must outlive this process. Each replaces the one before it of its quota and hour, or of its budget. */
export type Note =
  | { readonly kind: "quota"; readonly row: QuotaRow }
  | { readonly kind: "budget"; readonly budget: string; readonly record: BudgetRecord };

/** The port of a place where notes outlive this process: the state file, the notes of a fleet's leader. */
export interface NoteHome {
  /**
   * One call at a time. True once all of them outlive this process, or whoever comes after it will know that they are
   * missing; false where nobody can say so now.
   */
  write(notes: readonly Note[]): Promise<boolean>;
}

/**
 * The notes on their way to one home. All that are put in one turn share a write, and so do all that are put while one
 * is under way: theirs is the next one.
 */
export class Journal {
  readonly #home: NoteHome;
  #notes = new Map<string, Note>();
  /** Of each quota, the row that is known to be there: a request that took the place of a reservation changes nothing. */
  readonly #there = new Map<string, QuotaRow>();
  #writing: Promise<unknown> = Promise.resolve();
  #next: Promise<boolean> | undefined;

  constructor(home: NoteHome) {
    this.#home = home;
  }

  put(note: Note): void {
    this.#notes.set(keyOf(note), note);
    // Whoever waits for it hears of a bug.
    this.written().catch(() => {});
  }

  /** Whether all that was put by now is written. Where it is not, it is written with the next note. */
  written(): Promise<boolean> {
    const write = (): Promise<boolean> => {
      this.#next = undefined;
      const written = this.#write();
      this.#writing = written;
      return written;
    };
    return (this.#next ??= this.#writing.then(write, write));
  }

  async #write(): Promise<boolean> {
    const waiting = this.#notes;
    this.#notes = new Map();
    const notes = [...waiting.values()].filter((note) => !this.#isThere(note));
    if (notes.length === 0) return true;
    let isWritten = false;
    try {
      isWritten = await this.#home.write(notes);
    } finally {
      for (const note of notes) {
        if (note.kind !== "quota") continue;
        if (isWritten) this.#there.set(quotaOf(note.row), note.row);
        else this.#there.delete(quotaOf(note.row));
      }
      if (!isWritten) this.#notes = new Map([...waiting, ...this.#notes]);
    }
    return isWritten;
  }

  #isThere(note: Note): boolean {
    if (note.kind !== "quota") return false;
    const { hour, requests, unconfirmed } = note.row;
    const there = this.#there.get(quotaOf(note.row));
    return there?.hour === hour && there.requests === requests && there.unconfirmed === unconfirmed;
  }
}

function quotaOf({ budget, of }: QuotaRow): string {
  return `${of} ${budget}`;
}

function keyOf(note: Note): string {
  return note.kind === "quota" ? `${note.row.hour} ${quotaOf(note.row)}` : `budget ${note.budget}`;
}
