/**
 * What the next leader must know, in a register of its own: facts, which `facts.ts` reads and writes, and for each budget by
 * which terms it may have been polled last, and what is left to wait where its leader has not begun with it yet or has
 * ended. Who leads next waits for that long in place of a whole cold start: else a process that dies sooner than its cold
 * start silences all for ever.
 */

import {
  anyList,
  count,
  exactly,
  json,
  listOf,
  number,
  objectOf,
  optional,
  readOne,
  type Row,
  text,
} from "../../../kernel/text/rows.ts";
import { hash32 } from "../../../kernel/schedule/hash.ts";
import { factRow, type Facts, factsIn } from "./facts.ts";
import type { Reading } from "./register.ts";

export type BudgetTerms = {
  readonly budget: string;
  /** Of all that the two waits follow from: processes with the same digest pace and hold leases alike. */
  readonly digest: string;
  /** Where nothing is noted, others may have used what is ours now: a vantage may be a new one. */
  readonly isPart?: boolean;
  /** How long a process waits that was started again with the same terms. */
  readonly coldMs: number;
  /** After this time nothing counts any more that was sent before. */
  readonly wholeMs: number;
};

type Terms = Pick<BudgetTerms, "digest" | "wholeMs">;

export type BudgetRow = {
  /** By which it may have been polled last. */
  readonly terms: Terms | undefined;
  /** Nobody polls it. After this time it may be, by whoever has the terms of this digest. */
  readonly rest: { readonly leftMs: number; readonly digest: string } | undefined;
};

export type Rows = ReadonlyMap<string, BudgetRow>;

/** `rows`: by the id of a budget. */
type Noted = { readonly n: string; readonly rows: Rows; readonly facts: Facts | undefined };

export type Found = {
  readonly noted: Noted | "foreign" | undefined;
  readonly isSure: boolean;
  /** When these were first read, perhaps while standing by. */
  readonly firstAtMs: number;
  readonly atMs: number;
};

export type Start = {
  readonly terms: BudgetTerms;
  readonly atMs: number;
  /** How long it would be by a cold start. */
  readonly coldMs: number;
  /** What is to be believed of it until then. */
  readonly before: Terms | undefined;
  readonly mixedUntilMs: number;
};

export type Starts = ReadonlyMap<string, Start>;

/** How long each budget's last lease still counted, at that moment: the leader ends. */
export type LastLeases = { readonly leftMs: ReadonlyMap<string, number>; readonly atMs: number };

/** Beside the digest of terms that were others a short time ago: for a while, nobody's are the same. */
const MIXED = "*";

export function foundIn({ value, isSure }: Reading, before: Found | undefined, monoMs: number): Found {
  const noted = notedIn(value);
  const isSame = typeof noted === "object" && typeof before?.noted === "object" && noted.n === before.noted.n;
  return { noted, isSure, firstAtMs: isSame ? before.firstAtMs : monoMs, atMs: monoMs };
}

export function startOf(terms: BudgetTerms, { noted, isSure, firstAtMs, atMs }: Found): Start {
  const { digest } = terms;
  const rows = typeof noted === "object" ? noted.rows : undefined;
  const row = rows?.get(budgetId(terms.budget));
  // Without any notes it is a restart like others.
  const isSame = rows === undefined ? terms.isPart !== true : row?.terms?.digest === digest;
  const wholeMs = Math.max(terms.wholeMs, row?.terms?.wholeMs ?? 0);
  const coldMs = isSame ? terms.coldMs : wholeMs;
  const leftMs = isSure && row?.rest?.digest === digest ? row.rest.leftMs : Infinity;
  const before = isSame ? { digest, wholeMs: terms.wholeMs } : row?.terms;
  const startsAtMs = Math.min(firstAtMs + leftMs, atMs + coldMs);
  return { terms, atMs: startsAtMs, coldMs, before, mixedUntilMs: 0 };
}

/** After a reload. What this process sent before, its ledger knows; the next leader is told that terms were others. */
export function changedStarts(
  starts: Starts,
  all: readonly BudgetTerms[],
  found: Found,
  monoMs: number,
): Starts {
  return new Map(
    all.map((terms) => {
      const last = starts.get(terms.budget);
      if (last?.terms.digest === terms.digest) return [terms.budget, last];
      const wholeMs = Math.max(terms.wholeMs, last?.terms.wholeMs ?? 0);
      const start = startOf({ ...terms, wholeMs }, found);
      return [terms.budget, { ...start, mixedUntilMs: monoMs + wholeMs }];
    }),
  );
}

/** `longMs`: what is shorter need not be shortened. */
export function rowOf(
  start: Start,
  leases: LastLeases | undefined,
  longMs: number,
  monoMs: number,
): BudgetRow {
  const { terms, atMs, coldMs, before, mixedUntilMs } = start;
  const { budget, digest, wholeMs } = terms;
  const isWaiting = atMs > monoMs;
  const polled = { digest: monoMs < mixedUntilMs ? digest + MIXED : digest, wholeMs };
  const row = { terms: isWaiting ? before : polled, rest: undefined };
  if (leases === undefined && !(isWaiting && coldMs > longMs)) return row;
  const leaseMs = leases === undefined ? 0 : (leases.leftMs.get(budget) ?? wholeMs) - (monoMs - leases.atMs);
  const leftMs = Math.min(
    Math.max(coldMs, wholeMs),
    Math.max(0, atMs - monoMs, leaseMs, mixedUntilMs - monoMs),
  );
  return { ...row, rest: { leftMs, digest } };
}

export function isSameRow(one: BudgetRow | undefined, other: BudgetRow): boolean {
  return one?.terms?.digest === other.terms?.digest && one?.rest?.digest === other.rest?.digest;
}

/** Whether it is noted that this budget is polled by these terms. */
export function isPolled(row: BudgetRow | undefined, { digest }: BudgetTerms): boolean {
  const noted = row?.rest === undefined ? row?.terms?.digest : undefined;
  return noted === digest || noted === digest + MIXED;
}

const FORMAT = 1;

/** Of the notes, but for each of the facts, in JSON: so many at most beside the budgets, and so many for each budget. */
export const BYTES_OF_ALL = 300;
export const BYTES_OF_BUDGET = 100;

/** Budgets of the same terms are many, so their terms are written once. Names may be long: theirs are digests. */
export function notesText(n: string, rows: Rows, facts: Facts | undefined): string {
  const terms = new Map([...rows.values()].map((row) => [keyOf(row.terms), row.terms]));
  const places = new Map([...terms.keys()].map((key, place) => [key, place]));
  const budgets = [...rows].map(([budget, row]) => [
    budgetId(budget),
    places.get(keyOf(row.terms)),
    ...(row.rest === undefined ? [] : [Math.ceil(row.rest.leftMs), row.rest.digest]),
  ]);
  const written = facts && { atMs: facts.atMs, rows: facts.notes.map(factRow) };
  return JSON.stringify({ format: FORMAT, n, budgets, terms: [...terms.values()], facts: written });
}

/** Of 53 bits. Names that have one hash have others backwards: what only follows one would have one hash again. */
function budgetId(name: string): string {
  const backwards = name.split("").toReversed().join("");
  return (hash32(name) * 2 ** 21 + (hash32(backwards) >>> 11)).toString(36);
}

function keyOf(terms: Terms | undefined): string {
  return `${terms?.wholeMs} ${terms?.digest}`;
}

function notedIn(value: string | undefined): Noted | "foreign" | undefined {
  return value === undefined ? undefined : (readOne(value, json(notesIn)) ?? "foreign");
}

function notesIn(notes: Row): Noted {
  notes.get("format", exactly(FORMAT));
  const table = notes.get("terms", listOf(optional(objectOf(termsIn))));
  const budgetIn = (stored: unknown): readonly [id: string, row: BudgetRow] => {
    const [id, place, leftMs, digest] = anyList(stored);
    const rest = digest === undefined ? undefined : { leftMs: number(leftMs), digest: text(digest) };
    return [text(id), { terms: table[count(place)], rest }];
  };
  const rows = new Map(notes.get("budgets", listOf(budgetIn)));
  return { n: notes.get("n", text), rows, facts: notes.get("facts", factsIn) };
}

function termsIn(row: Row): Terms {
  return { digest: row.get("digest", text), wholeMs: row.get("wholeMs", number) };
}
