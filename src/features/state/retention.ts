import type { DatabaseSync, StatementSync } from "node:sqlite";
import { LONGEST_WINDOW_MS } from "../history/credit.ts";
import { FAILURES_KEPT, POLLS_KEPT } from "../history/kept-poll.ts";
import { DAY_MS, HOUR_MS, hourOf, MINUTE_MS } from "../../kernel/time/duration.ts";
import { inTransaction } from "./database.ts";
import { DAY_SUMS } from "./tables.ts";

/** So many polls of an upstream are in the file at most. */
export const POLLS_IN_FILE = 1_000;
/** Each may have three such polls as its evidence. */
export const INCIDENTS_IN_FILE = 350;

const ROUND_EVERY_MS = 600_000;
/** A round deletes in bites, so that no batch waits long. */
const BITE_ROWS = 5_000;
const FREED_PAGES = 2_000;

/** Deletes polls older than a day, except the newest polls and failures of each upstream. */
const OLD_POLLS = `DELETE FROM polls WHERE id IN (
  SELECT id FROM polls AS old WHERE ended_at_ms < :day
  AND (ended_at_ms < :old OR id NOT IN (
    SELECT id FROM polls WHERE upstream = old.upstream ORDER BY id DESC LIMIT ${POLLS_KEPT}))
  AND (ended_at_ms < :old OR outcome = 'ok' OR id NOT IN (
    SELECT id FROM polls WHERE upstream = old.upstream AND outcome <> 'ok' ORDER BY id DESC LIMIT ${FAILURES_KEPT}))
  LIMIT ${BITE_ROWS})`;

/** However often an upstream is polled, its polls take a bounded part of the file. */
const MANY_POLLS = `DELETE FROM polls WHERE id IN (
  SELECT old.id FROM (SELECT DISTINCT upstream AS name FROM polls) JOIN polls AS old ON old.upstream = name
  WHERE old.id <= (SELECT id FROM polls WHERE upstream = name ORDER BY id DESC LIMIT 1 OFFSET ${POLLS_IN_FILE})
  AND (outcome = 'ok' OR old.id NOT IN (
    SELECT id FROM polls WHERE upstream = name AND outcome <> 'ok' ORDER BY id DESC LIMIT ${FAILURES_KEPT}))
  LIMIT ${BITE_ROWS})`;

const DAY_OF_HOURS = `INSERT OR IGNORE INTO days (upstream, day, ${Object.keys(DAY_SUMS).join(", ")})
  SELECT upstream, :day, ${Object.values(DAY_SUMS).join(", ")} FROM hours
  WHERE bucket >= :day * 24 AND bucket < :day * 24 + 24 GROUP BY upstream`;

/** By then all polls of a day are written, also those of which it was known late whose fault they were. */
const SETTLED_MS = HOUR_MS;
/** After a start: so long may nothing have run here. Days before that stay what they are. */
const DAYS_CAUGHT_UP = 7;

const OLD_ROWS: readonly string[] = [
  "DELETE FROM minutes WHERE bucket < :minute",
  "DELETE FROM hours WHERE bucket < :hour",
  "DELETE FROM tally_hours WHERE bucket < :hour",
  `DELETE FROM incidents AS old WHERE started_at_ms < :old OR started_at_ms < (
    SELECT started_at_ms FROM incidents WHERE upstream = old.upstream
    ORDER BY started_at_ms DESC LIMIT 1 OFFSET ${INCIDENTS_IN_FILE - 1})`,
  "DELETE FROM value_hours WHERE hour < :valueHour",
  "DELETE FROM notes WHERE until_ms <= :now",
];

/** A year, and some weeks in which last year is still asked for. */
const KEPT_MS = 400 * DAY_MS;
/** The plots of a day are drawn of them. */
const MINUTES_KEPT_MS = 2 * DAY_MS;

/** The state file forgets what is older than these moments, minutes and hours. */
export function retentionAt(nowMs: number): Readonly<Record<string, number>> {
  return {
    day: nowMs - DAY_MS,
    // The newest polls and failures of an upstream outlive a day, but not this.
    old: nowMs - KEPT_MS,
    minute: Math.floor((nowMs - MINUTES_KEPT_MS) / MINUTE_MS),
    hour: hourOf(nowMs - KEPT_MS),
    valueHour: hourOf(nowMs - LONGEST_WINDOW_MS) - 1,
    now: nowMs,
  };
}

/** Adds up a day in UTC that is over. */
export function addUpDay(database: DatabaseSync, day: number): void {
  database.prepare(DAY_OF_HOURS).run({ day });
}

/** Bounds the size of the file and adds up days that are over, now and then, between two batches. */
export class Upkeep {
  readonly #database: DatabaseSync;
  readonly #bites: readonly StatementSync[];
  readonly #rest: readonly StatementSync[];
  #roundAtMs = Number.NEGATIVE_INFINITY;
  /** All before it were added up. */
  #day = Number.NEGATIVE_INFINITY;

  constructor(database: DatabaseSync) {
    const prepared = (sql: string): StatementSync => {
      const statement = database.prepare(sql);
      // Each uses some of the times.
      statement.setAllowUnknownNamedParameters(true);
      return statement;
    };
    this.#database = database;
    this.#bites = [OLD_POLLS, MANY_POLLS].map(prepared);
    this.#rest = OLD_ROWS.map(prepared);
  }

  /** Also runs on time after the clock was set back. */
  tidy(nowMs: number): void {
    this.#addUpOneDay(nowMs);
    if (Math.abs(nowMs - this.#roundAtMs) < ROUND_EVERY_MS) return;
    const times = retentionAt(nowMs);
    for (const bite of this.#bites) {
      const taken = inTransaction(this.#database, () => bite.run(times));
      // The next batch is followed by the next bite.
      if (taken.changes === BITE_ROWS) return;
    }
    inTransaction(this.#database, () => {
      for (const statement of this.#rest) statement.run(times);
    });
    this.#database.exec(`PRAGMA incremental_vacuum(${FREED_PAGES})`);
    this.#roundAtMs = nowMs;
  }

  #addUpOneDay(nowMs: number): void {
    const today = Math.floor((nowMs - SETTLED_MS) / DAY_MS);
    // The clock may have been set back.
    this.#day = Math.max(Math.min(this.#day, today), today - DAYS_CAUGHT_UP);
    if (this.#day >= today) return;
    inTransaction(this.#database, () => addUpDay(this.#database, this.#day));
    this.#day += 1;
  }
}
