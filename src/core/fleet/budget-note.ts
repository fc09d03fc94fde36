/** What the holder of a budget leaves for the next one. */

import type { LearnedWindow } from "../budget/learned-windows.ts";
import { LESSONS } from "../budget/learned-windows.ts";
import { type BudgetRecord, type Lowered, NOTHING_HELD } from "../budget/record.ts";
import { numberIn, readObject } from "./member.ts";

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
  const read = readObject(text);
  const wallMs = numberIn(read["at"]);
  if (wallMs === undefined) return undefined;
  const amount = (key: keyof BudgetRecord): number => Math.max(0, numberIn(read[key]) ?? 0);
  const record: BudgetRecord = {
    ...NOTHING_HELD,
    pausedUntilMs: amount("pausedUntilMs"),
    yieldUntilMs: amount("yieldUntilMs"),
    refusals: amount("refusals"),
    refusedUntilMs: amount("refusedUntilMs"),
    lowered: listIn(read["lowered"]).flatMap(loweredIn),
    untold: loweredIn(objectIn(read["untold"]))[0],
    windows: listIn(read["windows"]).flatMap(windowIn),
  };
  return { record, wallMs };
}

type Fields = Readonly<Record<string, unknown>>;

function objectIn(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function listIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(objectIn) : [];
}

function loweredIn({ perMs, requests, untilMs }: Fields): readonly Lowered[] {
  const [window, most, until] = [numberIn(perMs), numberIn(requests), numberIn(untilMs)];
  if (window === undefined || most === undefined || until === undefined) return [];
  return window > 0 && most >= 0 ? [{ perMs: window, requests: most, untilMs: until }] : [];
}

function windowIn({ key, limit, perMs, from }: Fields): readonly LearnedWindow[] {
  const window = numberIn(perMs);
  const lesson = LESSONS.find((known) => known === from);
  if (typeof key !== "string" || window === undefined || window <= 0 || lesson === undefined) return [];
  return [{ key, limit: numberIn(limit), perMs: window, from: lesson }];
}
