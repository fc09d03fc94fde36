import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { SavedPoll } from "../history/state.ts";
import { FAILURES_COUNTED } from "../history/state.ts";
import type { Outcome } from "../../kernel/exchange/reasons.ts";
import { hourOf, MINUTE_MS } from "../../kernel/time/duration.ts";
import type { StateBatch } from "./messages.ts";
import { inTransaction } from "./database.ts";
import { type Columns, HOUR_SUMS, MINUTE_SUMS, pollColumns, SLOWEST } from "./tables.ts";

function addTo(table: string, sums: readonly string[]): string {
  const columns = ["bucket", "upstream", ...sums, SLOWEST];
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})
    ON CONFLICT DO UPDATE SET ${sums.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")},
    ${SLOWEST} = max(${SLOWEST}, excluded.${SLOWEST}) RETURNING ok, failed`;
}

const ADD_TO_MINUTE = addTo("minutes", MINUTE_SUMS);
const ADD_TO_TALLY = `INSERT INTO tally_hours (bucket, upstream, name, polls, units) VALUES (?, ?, ?, 1, ?)
  ON CONFLICT DO UPDATE SET polls = polls + 1, units = units + excluded.units`;
const ADD_TO_HOUR = addTo("hours", HOUR_SUMS);

/** Writes each batch completely or not at all, so roll-ups always match the polls that they count. */
export class StateWriter {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  write({ polls, rows }: Pick<StateBatch, "polls" | "rows">): void {
    inTransaction(this.#database, () => {
      for (const poll of polls) this.#poll(poll);
      for (const { table, columns } of rows) this.#put(table, columns);
    });
  }

  #poll(poll: SavedPoll): void {
    this.#put("polls", pollColumns(poll));
    const { upstream, endedAtMs, withinObjective, watchedMs, status, tally } = poll;
    const { outcome, reason } = status;
    const okMs = outcome === "ok" ? status.durationMs : 0;
    const failedMs = outcome === "failed" ? watchedMs : 0;
    const outcomes = (["ok", "failed", "throttled", "rejected"] as const).map((each) =>
      Number(each === outcome),
    );
    const counts = [1, ...outcomes, Number(withinObjective), watchedMs, failedMs, okMs];
    const minute = Math.floor(endedAtMs / MINUTE_MS);
    const seen = this.#statement(ADD_TO_MINUTE).get(minute, upstream, ...counts, okMs);
    const changes = minuteChanges(outcome, Number(seen?.["ok"]), Number(seen?.["failed"]));
    const ofMinutes = [Number(reason === "offline"), ...changes];
    this.#run(ADD_TO_HOUR, hourOf(endedAtMs), upstream, ...counts, ...ofMinutes, okMs);
    if (tally !== undefined) this.#run(ADD_TO_TALLY, hourOf(endedAtMs), upstream, tally.name, tally.units);
  }

  #put(table: string, columns: Columns): void {
    const names = Object.keys(columns);
    const places = names.map(() => "?").join(", ");
    this.#run(
      `INSERT OR REPLACE INTO ${table} (${names.join(", ")}) VALUES (${places})`,
      ...Object.values(columns),
    );
  }

  #run(sql: string, ...values: readonly SQLInputValue[]): void {
    this.#statement(sql).run(...values);
  }

  #statement(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** What a poll changes in the numbers of minutes of its hour. `ok` and `failed` are those of its minute, with itself. */
function minuteChanges(outcome: Outcome, ok: number, failed: number): readonly number[] {
  const isFailure = outcome === "failed";
  const isFirst = (outcome === "ok" || isFailure) && ok + failed === 1;
  const endsAllFailed = outcome === "ok" && ok === 1 && failed > 0;
  const reached = FAILURES_COUNTED.map((failures) => Number(isFailure && failed === failures));
  return [Number(isFirst), Number(isFirst && isFailure) - Number(endsAllFailed), ...reached];
}
