import type { Moment } from "../../kernel/time/moment.ts";
import { DAY_MS, SECOND_MS } from "../../kernel/time/duration.ts";
import { type Left, type Note, type NoteKind, notesOf } from "../../kernel/text/notes.ts";
import { count, listOf, number, objectOf, oneOf, optional, type Row, text } from "../../kernel/text/rows.ts";
import { type LearnedWindow, LESSONS } from "./learned-windows.ts";

/** At most so many requests in a window of that length, until then. */
export type Lowered = { readonly perMs: number; readonly requests: number; readonly untilMs: number };

/**
 * All that an upstream's answers made of one budget, by the monotonic clock of this process. Pauses, back-off, yielding
 * and lowered limits are here, and what was learned.
 */
export type Held = {
  readonly pausedUntilMs: number;
  readonly yieldUntilMs: number;
  /** So many refusals in a row gave no time: each doubles the pause that follows. */
  readonly refusals: number;
  /** Until then a refusal counts more than what the schedules need. */
  readonly refusedUntilMs: number;
  /** One for each window of a rate. */
  readonly lowered: readonly Lowered[];
  /** It was learned from refusals, and counts our own requests. */
  readonly unadvertised: Lowered | undefined;
  readonly windows: readonly LearnedWindow[];
};

/**
 * The same by the wall clock, as JSON of a kilobyte or so: it survives this process in the state file, and another
 * process can go on from it. What is over by now is 0 or left out. The upstreams that draw on the budget are named, as
 * it may have another name in the next config.
 */
export type BudgetRecord = Held & {
  readonly upstreams: readonly string[];
  /** The part of it by which it is polled; absent where nobody else watches, empty until it is polled by another one. */
  readonly part?: string | undefined;
};

const MOST_WINDOWS = 6;
const LONGEST_KEY = 80;

export const NOTHING_HELD: BudgetRecord = {
  pausedUntilMs: 0,
  yieldUntilMs: 0,
  refusals: 0,
  refusedUntilMs: 0,
  lowered: [],
  unadvertised: undefined,
  windows: [],
  upstreams: [],
};

/** By budget. */
export const HELD: NoteKind<BudgetRecord> = {
  name: "budget",
  read: objectOf(recordIn),
  merge: stricterOf,
  later: laterBy,
};

export function heldNote(budget: string, record: BudgetRecord): Note {
  return { kind: HELD.name, key: budget, json: record };
}

/** By budget: what was learned of it. */
export function windowsIn(notes: Left["notes"]): ReadonlyMap<string, readonly LearnedWindow[]> {
  return new Map([...notesOf(HELD, [{ notes }])].map(([budget, { windows }]) => [budget, windows]));
}

/**
 * Many upstreams say their limit in every answer, and each extends it a little. Its end is rounded up, so that the
 * record need not be written for each of them.
 */
const GRAIN_MS = 10 * SECOND_MS;

/** `mostMs`: it cannot have been asked for longer; absent where that is the longest pause. */
type At = (untilMs: number, grainMs: number, mostMs?: number) => number;

function withTimes<Of extends Held>(of: Of, at: At): Of {
  const { lowered, unadvertised } = of;
  return {
    ...of,
    pausedUntilMs: at(of.pausedUntilMs, 1),
    yieldUntilMs: at(of.yieldUntilMs, GRAIN_MS),
    refusedUntilMs: at(of.refusedUntilMs, GRAIN_MS),
    lowered: lowered.map((limit) => ({
      ...limit,
      untilMs: at(limit.untilMs, GRAIN_MS, Math.min(limit.perMs + GRAIN_MS, DAY_MS)),
    })),
    unadvertised: unadvertised && { ...unadvertised, untilMs: at(unadvertised.untilMs, GRAIN_MS) },
  };
}

export function recordOf(
  held: Held,
  now: Moment,
  upstreams: readonly string[] = [],
  part?: string,
): BudgetRecord {
  const timed = withTimes(held, (untilMs, grainMs) =>
    untilMs <= now.nowMs ? 0 : Math.ceil((untilMs - now.nowMs + now.wallMs) / grainMs) * grainMs,
  );
  const record = {
    ...timed,
    lowered: timed.lowered.filter(({ untilMs }) => untilMs > 0),
    windows: held.windows.filter(({ key }) => key.length <= LONGEST_KEY).slice(-MOST_WINDOWS),
    ...(part !== undefined && { part }),
  };
  const holds =
    part !== undefined ||
    Object.values(record).some((each) => (Array.isArray(each) ? each.length > 0 : Boolean(each)));
  return holds ? { ...record, upstreams } : NOTHING_HELD;
}

/** Nothing lasts longer than it could have been asked for, however wrong a wall clock was. */
export function heldOf(record: BudgetRecord, now: Moment, maxPauseMs: number): Held {
  return withTimes<Held>(record, (untilMs, _, mostMs = maxPauseMs) =>
    untilMs <= now.wallMs ? Number.NEGATIVE_INFINITY : now.nowMs + Math.min(untilMs - now.wallMs, mostMs),
  );
}

/** Something of it still holds the budget back. */
export function isInForce(record: BudgetRecord, wallMs: number): boolean {
  const { pausedUntilMs, yieldUntilMs, refusedUntilMs, lowered, unadvertised } = record;
  const limits = unadvertised === undefined ? lowered : [...lowered, unadvertised];
  const untilsMs = limits.map(({ untilMs }) => untilMs);
  return Math.max(pausedUntilMs, yieldUntilMs, refusedUntilMs, ...untilsMs) > wallMs;
}

/** By the wall clock of another process, which shows so much more. What is over is 0. */
function laterBy(record: BudgetRecord, byMs: number): BudgetRecord {
  return withTimes(record, (untilMs) => (untilMs === 0 ? 0 : untilMs + byMs));
}

function recordIn(record: Row): BudgetRecord {
  return {
    pausedUntilMs: record.get("pausedUntilMs", number),
    yieldUntilMs: record.get("yieldUntilMs", number),
    refusals: record.get("refusals", count),
    refusedUntilMs: record.get("refusedUntilMs", number),
    lowered: record.get("lowered", listOf(objectOf(loweredOf))),
    unadvertised: record.get("unadvertised", optional(objectOf(loweredOf))),
    windows: record.get("windows", listOf(objectOf(windowOf))),
    upstreams: record.get("upstreams", listOf(text)),
    part: record.get("part", optional(text)),
  };
}

function loweredOf(limit: Row): Lowered {
  return {
    perMs: Math.max(1, limit.get("perMs", number)),
    requests: Math.max(1, limit.get("requests", number)),
    untilMs: limit.get("untilMs", number),
  };
}

function windowOf(window: Row): LearnedWindow {
  return {
    key: window.get("key", text),
    limit: window.get("limit", optional(number)),
    perMs: Math.max(1, window.get("perMs", number)),
    from: window.get("from", oneOf(LESSONS)),
  };
}

function stricterOf(one: BudgetRecord, other: BudgetRecord): BudgetRecord {
  const most = (of: (record: BudgetRecord) => number): number => Math.max(of(one), of(other));
  return {
    pausedUntilMs: most(({ pausedUntilMs }) => pausedUntilMs),
    yieldUntilMs: most(({ yieldUntilMs }) => yieldUntilMs),
    refusals: most(({ refusals }) => refusals),
    refusedUntilMs: most(({ refusedUntilMs }) => refusedUntilMs),
    lowered: [...one.lowered, ...other.lowered],
    unadvertised:
      (one.unadvertised?.requests ?? Infinity) < (other.unadvertised?.requests ?? Infinity)
        ? one.unadvertised
        : other.unadvertised,
    windows: [...new Map([...one.windows, ...other.windows].map((window) => [window.key, window])).values()],
    upstreams: [...new Set([...one.upstreams, ...other.upstreams])],
  };
}
