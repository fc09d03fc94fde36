/**
 * What the next leader must know, in a register of its own. A leader reads it after it has won the lock, and writes it
 * back under its own life before it sends anything: then no late write of the leader before it can succeed any more.
 *
 * Each budget's row says by which terms it may have been polled last, and, where its leader has not begun with it yet or
 * has ended, what is left to wait. Who is to lead next waits for that long in place of a whole cold start: else a process
 * that dies sooner than its cold start silences all for ever.
 */

import { type Answer, callEndsAtMs, type Instant, type Luck, retryMs } from "./election.ts";
import { fieldsIn, isObject } from "./record.ts";
import type { Reading } from "./register.ts";

export type BudgetTerms = {
  readonly budget: string;
  /** Of all that the two waits follow from: processes with the same digest pace and hold leases alike. */
  readonly digest: string;
  /** How long a process waits that was started again with the same terms. */
  readonly coldMs: number;
  /** After this time nothing counts any more that was sent before. */
  readonly wholeMs: number;
};

type Terms = Pick<BudgetTerms, "digest" | "wholeMs">;

type Row = {
  /** By which it may have been polled last. */
  readonly terms: Terms | undefined;
  /** Nobody polls it. After this time it may be, by whoever has the terms of this digest. */
  readonly rest: { readonly leftMs: number; readonly digest: string } | undefined;
};

type Rows = ReadonlyMap<string, Row>;

export type Found = {
  readonly noted: Noted | "foreign" | undefined;
  readonly isSure: boolean;
  readonly atMs: number;
};

type Noted = { readonly n: string; readonly rows: Rows; readonly facts: unknown };

/** Beside the digest of terms that were others a short time ago: for a while, nobody's are the same. */
const MIXED = "*";

type Start = {
  readonly terms: BudgetTerms;
  readonly atMs: number;
  /** How long it would be by a cold start. */
  readonly coldMs: number;
  /** What is to be believed of it until then. */
  readonly before: Terms | undefined;
  readonly mixedUntilMs: number;
};

type Write = {
  readonly n: string;
  readonly rows: Rows;
  readonly factsCount: number;
  readonly isRest: boolean;
};

export type NotesCall = {
  readonly id: number;
  readonly begun: Instant;
  readonly version: string;
  readonly write: Write | undefined;
};

export type Notes = {
  readonly ttlMs: number;
  readonly starts: ReadonlyMap<string, Start>;
  /** Of the leader before. */
  readonly found: Found | undefined;
  readonly facts: unknown;
  readonly factsCount: number;
  /** How long each budget's last lease still counted, at that moment: the leader ends. */
  readonly leases: { readonly leftMs: ReadonlyMap<string, number>; readonly atMs: number } | undefined;
  readonly version: string;
  readonly calls: number;
  readonly call: NotesCall | undefined;
  readonly mustRead: boolean;
  readonly failures: number;
  readonly tickAtMs: number;
  readonly last: Write | undefined;
  /** While there is none, nothing may be sent. */
  readonly acked: (Write & { readonly atMs: number }) | undefined;
  /** Somebody emptied the register or set it back: what this reign knows is written again. */
  readonly mustWrite: boolean;
};

export type NotesHeard =
  /** Only while there is a right to lead. */
  | { readonly kind: "tick" }
  | { readonly kind: "answer"; readonly call: number; readonly answer: Answer<Reading> }
  | { readonly kind: "facts"; readonly facts: unknown }
  | { readonly kind: "terms" }
  /** Somebody emptied the lock, or set it back: perhaps these too. */
  | { readonly kind: "doubt" }
  | { readonly kind: "leases"; readonly leftMs: ReadonlyMap<string, number> };

export function openNotes(ttlMs: number, { monoMs }: Instant): Notes {
  return {
    ttlMs,
    starts: new Map(),
    found: undefined,
    facts: undefined,
    factsCount: 0,
    leases: undefined,
    version: "",
    calls: 0,
    call: undefined,
    mustRead: true,
    failures: 0,
    tickAtMs: monoMs,
    last: undefined,
    acked: undefined,
    mustWrite: false,
  };
}

/** When it is noted that a budget begins it may, and that takes a moment. */
const NOTED_WITHIN_MS = 250;

/** By the monotonic clock. */
export function startsAtMs({ starts, acked }: Notes, budget: string): number {
  const start = starts.get(budget);
  if (start === undefined) return 0;
  const row = acked?.rows.get(budget);
  const isNoted = row?.rest === undefined && row?.terms?.digest === start.terms.digest;
  return isNoted ? start.atMs : start.atMs + NOTED_WITHIN_MS;
}

/** Whether it is noted that this budget may be polled by these terms, and its start has come. */
export function mayBegin({ starts, acked }: Notes, budget: string, { monoMs }: Instant): boolean {
  const start = starts.get(budget);
  const row = acked?.rows.get(budget);
  if (start === undefined || row?.terms === undefined || row.rest !== undefined || monoMs < start.atMs)
    return false;
  const { digest } = start.terms;
  return row.terms.digest === digest || row.terms.digest === digest + MIXED;
}

/** `terms`: of every budget, as they are now. */
export function nextNotes(
  notes: Notes,
  heard: NotesHeard,
  terms: () => readonly BudgetTerms[],
  now: Instant,
  luck: Luck,
): Notes {
  const { monoMs } = now;
  switch (heard.kind) {
    case "tick":
      return ticked(notes, now, luck);
    case "facts":
      return {
        ...notes,
        facts: heard.facts,
        factsCount: notes.factsCount + 1,
        tickAtMs: soonUnlessFailed(notes, now),
      };
    case "terms":
      return {
        ...notes,
        starts: changed(notes, terms(), monoMs),
        tickAtMs: soonUnlessFailed(notes, now),
      };
    case "doubt":
      return { ...notes, mustRead: true, tickAtMs: soonUnlessFailed(notes, now) };
    case "leases":
      return {
        ...notes,
        leases: { leftMs: heard.leftMs, atMs: monoMs },
        tickAtMs: soonUnlessFailed(notes, now),
      };
    case "answer": {
      const { call, failures } = notes;
      if (call === undefined || call.id !== heard.call) return notes;
      const open = { ...notes, call: undefined, tickAtMs: monoMs };
      switch (heard.answer.kind) {
        case "unknown":
        case "changed": {
          const waitMs =
            heard.answer.kind === "changed" && failures < 3 ? 0 : retryMs(notes.ttlMs, failures, luck);
          return { ...open, mustRead: true, failures: failures + 1, tickAtMs: monoMs + waitMs };
        }
        case "read":
          return read({ ...open, mustRead: false, failures: 0 }, heard.answer.reading, terms, monoMs);
        case "written": {
          const { write } = call;
          const acked = write === undefined ? notes.acked : { ...write, atMs: monoMs };
          return { ...open, version: heard.answer.version, failures: 0, acked, mustWrite: false };
        }
        default:
          return heard.answer satisfies never;
      }
    }
    default:
      return heard satisfies never;
  }
}

function soonUnlessFailed({ failures, call, tickAtMs }: Notes, { monoMs }: Instant): number {
  return failures > 0 || call !== undefined ? tickAtMs : monoMs;
}

function ticked(before: Notes, now: Instant, luck: Luck): Notes {
  const { ttlMs, factsCount } = before;
  const { monoMs } = now;
  let notes = before;
  if (notes.call !== undefined && monoMs >= callEndsAtMs(ttlMs, notes.call.begun))
    notes = { ...notes, call: undefined, mustRead: true, failures: notes.failures + 1, tickAtMs: monoMs };
  if (notes.call !== undefined || monoMs < notes.tickAtMs) return notes;
  const begin = (write: Write | undefined): Notes => {
    const call = { id: notes.calls + 1, begun: now, version: notes.version, write };
    return { ...notes, calls: call.id, call, last: write ?? notes.last, tickAtMs: callEndsAtMs(ttlMs, now) };
  };
  if (notes.mustRead) return begin(undefined);
  // Never over what is not ours.
  if (notes.found?.noted === "foreign") return { ...notes, mustRead: true, tickAtMs: monoMs + ttlMs / 4 };
  const rows = rowsOf(notes, monoMs);
  const write = { n: luck.id, rows, factsCount, isRest: notes.leases !== undefined };
  return isNoted(notes, write, monoMs) ? { ...notes, tickAtMs: nextChangeAtMs(notes, monoMs) } : begin(write);
}

function read(notes: Notes, reading: Reading, terms: () => readonly BudgetTerms[], monoMs: number): Notes {
  const noted = notedIn(reading.value);
  const { version } = reading;
  if (notes.last !== undefined && typeof noted === "object" && noted.n === notes.last.n)
    return { ...notes, version, acked: { ...notes.last, atMs: monoMs }, mustWrite: !reading.isSure };
  if (notes.acked !== undefined) return { ...notes, version, mustWrite: true };
  const found = { noted, isSure: reading.isSure, atMs: monoMs };
  const facts = typeof noted === "object" ? noted.facts : undefined;
  const starts = new Map(terms().map((each) => [each.budget, startOf(each, found)]));
  return { ...notes, version, found, starts, facts };
}

function startOf(terms: BudgetTerms, { noted, isSure, atMs }: Found): Start {
  const { digest } = terms;
  const rows = typeof noted === "object" ? noted.rows : undefined;
  const row = rows?.get(terms.budget);
  // Without any notes it is a restart like others.
  const isSame = rows === undefined || row?.terms?.digest === digest;
  const wholeMs = Math.max(terms.wholeMs, row?.terms?.wholeMs ?? 0);
  const coldMs = isSame ? terms.coldMs : wholeMs;
  const leftMs = isSure && row?.rest?.digest === digest ? row.rest.leftMs : Infinity;
  const before = isSame ? { digest, wholeMs: terms.wholeMs } : row?.terms;
  return { terms, atMs: atMs + Math.min(leftMs, coldMs), coldMs, before, mixedUntilMs: 0 };
}

/** After a reload. What this process sent before, its ledger knows; the next leader is told that terms were others. */
function changed({ starts, found }: Notes, all: readonly BudgetTerms[], monoMs: number): Notes["starts"] {
  if (found === undefined) return starts;
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

function rowsOf({ starts, leases, ttlMs }: Notes, monoMs: number): Rows {
  return new Map([...starts].map(([budget, start]) => [budget, rowOf(start)]));

  function rowOf({ terms, atMs, coldMs, before, mixedUntilMs }: Start): Row {
    const { digest, wholeMs } = terms;
    const waitMs = Math.max(0, atMs - monoMs);
    const isWaiting = atMs > monoMs;
    const polled = { digest: monoMs < mixedUntilMs ? digest + MIXED : digest, wholeMs };
    const leaseMs =
      leases === undefined ? 0 : (leases.leftMs.get(terms.budget) ?? wholeMs) - (monoMs - leases.atMs);
    const leftMs = Math.min(Math.max(coldMs, wholeMs), Math.max(waitMs, leaseMs, mixedUntilMs - monoMs));
    const isResting = leases !== undefined || (isWaiting && coldMs > ttlMs);
    return { terms: isWaiting ? before : polled, rest: isResting ? { leftMs, digest } : undefined };
  }
}

/** What is left to wait is noted again and again, as it becomes less. */
function isNoted(notes: Notes, { rows, factsCount, isRest }: Write, monoMs: number): boolean {
  const { acked, ttlMs, mustWrite } = notes;
  if (acked === undefined || mustWrite || acked.factsCount !== factsCount || acked.isRest !== isRest)
    return false;
  if (acked.rows.size !== rows.size) return false;
  const isOld = monoMs >= acked.atMs + ttlMs;
  return [...rows].every(([budget, row]) => {
    const noted = acked.rows.get(budget);
    if (noted?.terms?.digest !== row.terms?.digest || noted?.rest?.digest !== row.rest?.digest) return false;
    return isRest || row.rest === undefined || !isOld;
  });
}

function nextChangeAtMs({ starts, ttlMs }: Notes, monoMs: number): number {
  const moments = [...starts.values()].flatMap(({ atMs, mixedUntilMs }) => [atMs, mixedUntilMs]);
  return Math.min(monoMs + ttlMs, ...moments.filter((atMs) => atMs > monoMs));
}

const FORMAT = 1;

/** Budgets of the same terms are many, so their terms are written once. */
export function notesText({ rows, n }: Write, facts: unknown): string {
  const table = new Map<string, Terms>();
  const indexOf = (terms: Terms): number => {
    const key = `${terms.wholeMs} ${terms.digest}`;
    if (!table.has(key)) table.set(key, terms);
    return [...table.keys()].indexOf(key);
  };
  const budgets = [...rows].map(([budget, { terms, rest }]) => [
    budget,
    terms === undefined ? null : indexOf(terms),
    ...(rest === undefined ? [] : [Math.ceil(rest.leftMs), rest.digest]),
  ]);
  return JSON.stringify({ format: FORMAT, n, budgets, terms: [...table.values()], facts });
}

function notedIn(text: string | undefined): Noted | "foreign" | undefined {
  if (text === undefined) return undefined;
  const { n, budgets, terms, facts } = fieldsIn(text, FORMAT) ?? {};
  if (typeof n !== "string" || !Array.isArray(budgets) || !Array.isArray(terms)) return "foreign";
  const table = terms.map((each: unknown) => termsIn(each));
  const rows = new Map<string, Row>();
  for (const each of budgets as readonly unknown[]) {
    if (!Array.isArray(each)) return "foreign";
    const [budget, index, leftMs, digest]: readonly unknown[] = each;
    if (typeof budget !== "string") return "foreign";
    const rest = typeof leftMs === "number" && typeof digest === "string" ? { leftMs, digest } : undefined;
    rows.set(budget, { terms: typeof index === "number" ? table[index] : undefined, rest });
  }
  return { n, rows, facts };
}

function termsIn(value: unknown): Terms | undefined {
  if (!isObject(value)) return undefined;
  const { digest, wholeMs } = value;
  return typeof digest === "string" && typeof wholeMs === "number" ? { digest, wholeMs } : undefined;
}
