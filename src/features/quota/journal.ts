import type { Note, NoteHome } from "../../kernel/text/notes.ts";
import { keepNewest } from "../../platform/remembered.ts";
import { sharedNext } from "../../platform/shared-work.ts";

const MOST_THERE = 500;

/**
 * The notes on their way to one home. All that are put in one turn share a write, and so do all that are put while one
 * is under way: theirs is the next one.
 */
export class Journal {
  readonly #home: NoteHome;
  #notes = new Map<string, Note>();
  /** As text, what is known to be there: a request that took the place of a reservation changes nothing. */
  readonly #there = new Map<string, string>();
  /** Whether all that was put by now is written. Where it is not, it is written with the next note. */
  readonly written: () => Promise<boolean> = sharedNext(() => this.#write());

  constructor(home: NoteHome) {
    this.#home = home;
  }

  put(note: Note): void {
    this.#notes.set(`${note.kind} ${note.key}`, note);
    // Whoever waits for it hears of a bug.
    this.written().catch(() => {});
  }

  async #write(): Promise<boolean> {
    const waiting = this.#notes;
    this.#notes = new Map();
    const changed = [...waiting]
      .map(([key, note]) => ({ key, note, text: JSON.stringify(note.json) }))
      .filter(({ key, text }) => this.#there.get(key) !== text);
    if (changed.length === 0) return true;
    let isWritten = false;
    try {
      isWritten = await this.#home.write(changed.map(({ note }) => note));
    } finally {
      for (const { key, text } of changed) {
        if (isWritten) keepNewest(this.#there, key, text, MOST_THERE);
        else this.#there.delete(key);
      }
      if (!isWritten) this.#notes = new Map([...waiting, ...this.#notes]);
    }
    return isWritten;
  }
}

/** These notes are on their way to each of these homes. */
export class Journals {
  readonly #journals: readonly Journal[];

  constructor(homes: readonly NoteHome[]) {
    this.#journals = homes.map((home) => new Journal(home));
  }

  put(note: Note): void {
    for (const journal of this.#journals) journal.put(note);
  }

  /** Whether all that was put by now is written in each. */
  async written(): Promise<boolean> {
    const each = await Promise.all(this.#journals.map((journal) => journal.written()));
    return each.every(Boolean);
  }
}
