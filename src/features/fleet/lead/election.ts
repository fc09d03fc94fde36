/**
 * Who leads: from what is known and what was heard to what is known next, with the call to make and when to look again.
 * No clock is compared with another one.
 *
 *   leader    begins a write ---- acknowledged              right ends
 *                  |---------------- 0.8 ttl ------------------|
 *   standby                 reads it ------------- ttl, and it never changed ------------| takes over
 *
 * A standby has read it after it was begun. Were the leader's clock a tenth slow and the standby's a tenth fast, 0.8 ttl
 * of the one are still shorter than a ttl of the other.
 */

import { type LockRecord, lockRecordIn, type SeenRecord } from "./record.ts";
import type { Reading, Written } from "./register.ts";

/** Both clocks of this machine: one may stand still while the process or the machine does. */
export type Instant = { readonly monoMs: number; readonly bootMs: number };

/** Chance of one step: a part from 0 to 1, and a text that was never used. */
export type Luck = { readonly part: number; readonly id: string };

export type Answer =
  | { readonly kind: "read"; readonly reading: Reading }
  | Written
  | { readonly kind: "unknown" };

export type Heard =
  | { readonly kind: "tick" }
  /** To the call that is under way. */
  | { readonly kind: "answer"; readonly answer: Answer }
  /** Nothing is sent from now on. */
  | { readonly kind: "stop" }
  /** The lock can be freed: what the next leader must know is noted. */
  | { readonly kind: "drained" }
  /** What the next leader must know cannot be noted: it leads no more. */
  | { readonly kind: "foreign notes" };

export type LockCall = {
  readonly kind: "read" | "take" | "renew" | "nobody" | "free";
  readonly begun: Instant;
  /** Of a write. */
  readonly record: LockRecord | undefined;
  readonly version: string;
};

type Seen = {
  readonly era: string;
  readonly n: string;
  /** When it was first read, by the monotonic clock. */
  readonly atMs: number;
  readonly record: SeenRecord;
  readonly version: string;
  readonly isSure: boolean;
};

/** The right to send ends some time after its last acknowledged write was begun. */
export type Mine = {
  readonly term: number;
  readonly right: Instant;
  readonly isFreed: boolean;
  readonly isAfterLeader: boolean;
};

type OwnWrite = { readonly n: string; readonly kind: LockCall["kind"]; readonly begun: Instant };

export type Election = {
  readonly life: string;
  readonly ttlMs: number;
  readonly mine: Mine | undefined;
  readonly seen: Seen | undefined;
  /** Ever seen. */
  readonly maxTerm: number;
  readonly maxTtlMs: number;
  readonly call: LockCall | undefined;
  /** Why it must read before it writes. */
  readonly mustRead: "unknown" | "changed" | undefined;
  readonly failures: number;
  readonly ownWrites: readonly OwnWrite[];
  readonly tickAtMs: number;
  readonly stop: "draining" | "drained" | undefined;
  readonly isOver: boolean;
};

export function openElection(life: string, ttlMs: number, { monoMs }: Instant): Election {
  return {
    life,
    ttlMs,
    mine: undefined,
    seen: undefined,
    maxTerm: 0,
    maxTtlMs: ttlMs,
    call: undefined,
    mustRead: "unknown",
    failures: 0,
    ownWrites: [],
    tickAtMs: monoMs,
    stop: undefined,
    isOver: false,
  };
}

/** By the clock that says more: whoever must stop in time believes that one. */
function elapsedMs(since: Instant, now: Instant): number {
  return Math.max(now.monoMs - since.monoMs, now.bootMs - since.bootMs);
}

const RIGHT_PART = 0.8;

function isFresh({ ttlMs }: Election, begun: Instant, now: Instant): boolean {
  return elapsedMs(begun, now) < RIGHT_PART * ttlMs;
}

/** To be asked in the turn in which something is sent. */
export function hasRight(election: Election, now: Instant): boolean {
  return election.mine !== undefined && isFresh(election, election.mine.right, now);
}

/** When to tick next, by the monotonic clock. */
export function wakeAtMs({ call, tickAtMs, mine, ttlMs }: Election): number {
  const rightEndsAtMs = mine === undefined ? Infinity : mine.right.monoMs + RIGHT_PART * ttlMs;
  return call === undefined ? Math.min(tickAtMs, rightEndsAtMs) : rightEndsAtMs;
}

export function retryMs(ttlMs: number, failures: number, { part }: Luck): number {
  return Math.min(ttlMs / 10, 50 * 2 ** Math.min(failures, 10)) * (0.5 + part);
}

/** A call that begins is the `call` of what is returned. */
export function next(election: Election, heard: Heard, now: Instant, luck: Luck): Election {
  switch (heard.kind) {
    case "tick":
      return ticked(election, now, luck);
    case "stop":
      return { ...election, stop: "draining", tickAtMs: now.monoMs };
    case "drained":
      return { ...election, stop: "drained", tickAtMs: now.monoMs };
    case "foreign notes":
      return lost(election, now, luck);
    case "answer": {
      const { call } = election;
      if (call === undefined) return election;
      return answered({ ...election, call: undefined }, call, heard.answer, now, luck);
    }
    default:
      return heard satisfies never;
  }
}

function ticked(before: Election, now: Instant, luck: Luck): Election {
  const isLost = before.mine !== undefined && !hasRight(before, now);
  const election = isLost ? lost(before, now, luck) : before;
  const { call, mine, seen, stop, ttlMs } = election;
  if (stop !== undefined && mine === undefined && call?.kind !== "take") return over(election);
  if (call !== undefined || now.monoMs < election.tickAtMs) return election;
  if (seen === undefined || election.mustRead !== undefined) return asked(election, "read", undefined, now);
  const write = (kind: "take" | "renew" | "nobody" | "free", term: number): Election => {
    const life = kind === "nobody" ? null : election.life;
    const record = {
      life,
      term,
      n: luck.id,
      ttlMs: kind === "nobody" ? election.maxTtlMs : ttlMs,
      isFree: kind === "free",
    };
    return asked(election, kind, record, now);
  };
  if (mine !== undefined) {
    if (stop === "drained" && isOwn(election.life, seen.record) && seen.isSure)
      return write("free", mine.term);
    // Never a second time over anything else.
    return mine.isFreed ? over(election) : write("renew", mine.term);
  }
  // What is written late by somebody else shows as a change of it.
  if (seen.record === undefined) return write("nobody", election.maxTerm);
  if (seen.record !== "foreign" && now.monoMs >= takenAtMs(election, seen, seen.record))
    return write("take", election.maxTerm + 1);
  return asked(election, "read", undefined, now);
}

function asked(
  election: Election,
  kind: LockCall["kind"],
  record: LockRecord | undefined,
  now: Instant,
): Election {
  const { seen, mine, ownWrites } = election;
  const call = { kind, begun: now, record, version: seen?.version ?? "" };
  const recent = ownWrites.filter(({ begun }) => isFresh(election, begun, now));
  return {
    ...election,
    call,
    mine: mine === undefined ? undefined : { ...mine, isFreed: mine.isFreed || kind === "free" },
    ownWrites: record === undefined ? recent : [...recent, { n: record.n, kind, begun: now }],
  };
}

function answered(election: Election, call: LockCall, answer: Answer, now: Instant, luck: Luck): Election {
  const { failures, ttlMs } = election;
  switch (answer.kind) {
    case "unknown": {
      // Whoever waited for an answer has waited enough.
      const tickAtMs = Math.max(now.monoMs, call.begun.monoMs + retryMs(ttlMs, failures, luck));
      return { ...election, mustRead: "unknown", failures: failures + 1, tickAtMs };
    }
    case "changed": {
      // At once, unless it goes on and on: then this server does not keep what it says.
      const waitMs = failures < 3 ? 0 : retryMs(ttlMs, failures, luck);
      return { ...election, mustRead: "changed", failures: failures + 1, tickAtMs: now.monoMs + waitMs };
    }
    case "read":
      return read(election, answer.reading, now, luck);
    case "written":
      return written({ ...election, failures: 0 }, call, answer.version, now, luck);
    default:
      return answer satisfies never;
  }
}

function read(before: Election, reading: Reading, now: Instant, luck: Luck): Election {
  const { era, version, isSure } = reading;
  const record = lockRecordIn(reading.value);
  const isKnown = record !== undefined && record !== "foreign";
  const n = isKnown ? record.n : (reading.value ?? "");
  const isSame = before.seen?.era === era && before.seen.n === n;
  const election: Election = {
    ...before,
    seen: { era, n, atMs: isSame ? before.seen.atMs : now.monoMs, record, version, isSure },
    maxTerm: Math.max(before.maxTerm, isKnown ? record.term : 0),
    maxTtlMs: Math.max(before.maxTtlMs, isKnown ? record.ttlMs : 0),
    mustRead: undefined,
    failures: before.mustRead === "changed" ? before.failures : 0,
  };
  const { mine } = election;
  const own = isOwn(election.life, record) ? election.ownWrites.find((write) => write.n === n) : undefined;
  if (mine === undefined) {
    const isWon = isKnown && own?.kind === "take" && isFresh(election, own.begun, now);
    return isWon
      ? leading(election, record.term, own.begun, before.seen, now, luck)
      : standing(election, now, luck);
  }
  if (!hasRight(election, now)) return lost(election, now, luck);
  if (isOwn(election.life, record)) {
    const isLater = own !== undefined && elapsedMs(own.begun, now) < elapsedMs(mine.right, now);
    return renewed(election, { ...mine, right: isLater ? own.begun : mine.right }, now, luck);
  }
  if (mine.isFreed) return over(election);
  // Emptied, or set back to an older state.
  const isOlder = !isKnown ? record === undefined : record.life === null || record.term < mine.term;
  return isOlder ? { ...election, tickAtMs: now.monoMs } : lost(election, now, luck);
}

function written(
  before: Election,
  { kind, begun, record }: LockCall,
  version: string,
  now: Instant,
  luck: Luck,
): Election {
  if (record === undefined) return before;
  const { mine } = before;
  const election: Election = {
    ...before,
    seen: { era: before.seen?.era ?? "", n: record.n, atMs: now.monoMs, record, version, isSure: true },
    maxTerm: Math.max(before.maxTerm, record.term),
  };
  if (kind === "free") return over(election);
  if (kind === "take" && isFresh(election, begun, now))
    return leading(election, record.term, begun, before.seen, now, luck);
  // A right that has ended never comes back.
  if (mine === undefined || !hasRight(election, now)) return lost(election, now, luck);
  return renewed(election, { ...mine, right: begun }, now, luck);
}

function leading(
  election: Election,
  term: number,
  right: Instant,
  over: Seen | undefined,
  now: Instant,
  luck: Luck,
): Election {
  const last = over?.isSure === true ? over.record : undefined;
  const isAfterLeader = typeof last === "object" && last.life !== null;
  return renewed(election, { term, right, isFreed: false, isAfterLeader }, now, luck);
}

function renewed(election: Election, mine: Mine, now: Instant, luck: Luck): Election {
  const dueMs = mine.right.monoMs + (election.ttlMs / 4) * spread(luck);
  const isFreeing = election.stop === "drained";
  return { ...election, mine, tickAtMs: isFreeing ? now.monoMs : Math.max(now.monoMs, dueMs) };
}

function lost(election: Election, now: Instant, luck: Luck): Election {
  return standing({ ...election, mine: undefined }, now, luck);
}

const READ_EVERY_MS = 750;

function standing(election: Election, now: Instant, luck: Luck): Election {
  const { seen, ttlMs } = election;
  if (seen === undefined || seen.record === undefined) return { ...election, tickAtMs: now.monoMs };
  const readAtMs = now.monoMs + Math.min(ttlMs / 8, READ_EVERY_MS) * spread(luck);
  const takeAtMs = seen.record === "foreign" ? readAtMs : takenAtMs(election, seen, seen.record);
  return { ...election, tickAtMs: Math.max(now.monoMs, Math.min(readAtMs, takeAtMs)) };
}

/** When whoever wrote it has lost its right for certain, by the longest ttl that anybody may go by. */
function takenAtMs({ ttlMs, maxTtlMs }: Election, { atMs, isSure }: Seen, { isFree }: LockRecord): number {
  return isFree && isSure ? atMs : atMs + Math.max(ttlMs, maxTtlMs);
}

/** Written by this process, which leads by it. */
export function isOwn(life: string, record: SeenRecord): boolean {
  return record !== undefined && record !== "foreign" && record.life === life && !record.isFree;
}

function over(election: Election): Election {
  return { ...election, mine: undefined, call: undefined, isOver: true, tickAtMs: Infinity };
}

function spread({ part }: Luck): number {
  return 0.8 + 0.2 * part;
}
