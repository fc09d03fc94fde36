/** What the holder of a budget leaves for the next one. */

import { type BudgetRecord, recordIn } from "../budget/record.ts";
import { number, readText } from "../exchange/rows.ts";

/** `wallMs`: what the clock showed that the times in it are by. */
export type BudgetNote = { readonly record: BudgetRecord; readonly wallMs: number };

/** The board keeps no longer ones. */
const MOST_CHARACTERS = 1_000;

/** Learned windows give way first: they are learned anew. */
export function noteText({ record, wallMs }: BudgetNote): string {
  for (let windows = record.windows; ; windows = windows.slice(1)) {
    const text = JSON.stringify({ at: Math.round(wallMs), ...record, windows });
    if (text.length <= MOST_CHARACTERS || windows.length === 0) return text.slice(0, MOST_CHARACTERS);
  }
}

/** Another version may have written it, or nobody of ours: undefined then. */
export function readNote(text: string): BudgetNote | undefined {
  return readText(text, (note) => ({ record: recordIn(note), wallMs: note.get("at", number) }));
}
