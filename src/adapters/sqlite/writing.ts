import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { SavedPoll } from "../../core/history/state.ts";
import { HOUR_MS, MINUTE_MS } from "../../core/time/duration.ts";
import type { StateBatch } from "./messages.ts";
import { inTransaction } from "./database.ts";
import { type Columns, pollColumns } from "./tables.ts";

const ROLL_UPS = [
  { table: "minutes", bucketMs: MINUTE_MS },
  { table: "hours", bucketMs: HOUR_MS },
] as const;

const addPollTo = (
  table: string,
): string => `INSERT INTO ${table} VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
  ON CONFLICT DO UPDATE SET polls = polls + 1, ok = ok + excluded.ok, failed = failed + excluded.failed,
  throttled = throttled + excluded.throttled, rejected = rejected + excluded.rejected,
  within_objective = within_objective + excluded.within_objective,
  ok_duration_ms = ok_duration_ms + excluded.ok_duration_ms,
  slowest_ok_ms = max(slowest_ok_ms, excluded.slowest_ok_ms)`;

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
    const { upstream, endedAtMs, withinObjective, status } = poll;
    const isOk = status.outcome === "ok";
    for (const { table, bucketMs } of ROLL_UPS) {
      this.#run(
        addPollTo(table),
        Math.floor(endedAtMs / bucketMs),
        upstream,
        Number(isOk),
        Number(status.outcome === "failed"),
        Number(status.outcome === "throttled"),
        Number(status.outcome === "rejected"),
        Number(withinObjective),
        isOk ? status.durationMs : 0,
      );
    }
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
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    statement.run(...values);
  }
}
