import { type Check, readOne } from "./rows.ts";

/** A note outlives this process, beside its history: one row of the state file, and of what a leader leaves for the next. */
export type Note = {
  readonly kind: string;
  readonly key: string;
  readonly json: unknown;
  /** From then on nobody asks for it. Wall clock. */
  readonly untilMs?: number;
  /** It counts what was sent or spent: what counts waits until it is noted. */
  readonly isCount?: true;
  /** It is left out first where there is no room for all. */
  readonly isLeast?: true;
};

/** Only who writes notes of a kind reads them. */
export type NoteKind<Content> = {
  readonly name: string;
  readonly read: Check<Content>;
  /** This counts where two homes have it. */
  readonly merge: (one: Content, other: Content) => Content;
  /** By a wall clock that shows so much more than that of whoever wrote it. */
  readonly later?: (content: Content, byMs: number) => Content;
};

/** The port of a place where notes outlive this process. Each note replaces the one before it of its kind and key. */
export interface NoteHome {
  /**
   * True once all of them outlive this process, or whoever comes after it will know that they are missing; false where
   * nobody can say so now.
   */
  write(notes: readonly Note[]): Promise<boolean>;
}

/** An earlier process left this in one home. The wall clock shows `laterByMs` more than the one that it went by. */
export type Left = { readonly notes: readonly Note[]; readonly laterByMs?: number };

/** By key. What nobody of ours would write is left out. */
export function notesOf<Content>(
  { name, read, merge, later }: NoteKind<Content>,
  homes: readonly Left[],
): ReadonlyMap<string, Content> {
  const found = new Map<string, Content>();
  for (const { notes, laterByMs = 0 } of homes) {
    for (const { kind, key, json } of notes) {
      const content = kind === name ? readOne(json, read) : undefined;
      if (content === undefined) continue;
      const [known, now] = [found.get(key), later?.(content, laterByMs) ?? content];
      found.set(key, known === undefined ? now : merge(known, now));
    }
  }
  return found;
}
