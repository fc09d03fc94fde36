import type { DatabaseSync, StatementSync } from "node:sqlite";
import { rollUp, type RollUp } from "../../core/history/rollup.ts";
import { hourOf } from "../../core/history/kept-values.ts";
import type {
  SavedAsTheirs,
  SavedIncident,
  SavedPoll,
  SavedUpstreamValue,
} from "../../core/history/state.ts";
import type { StateBatch } from "./messages.ts";
import { inTransaction } from "./database.ts";
import { MINUTE_MS, HOUR_MS } from "../../core/time/duration.ts";

const INSERT_POLL = `INSERT INTO polls (upstream, poll, origin, sent_at_ms, ended_at_ms, outcome, reason, degraded,
  within_objective, duration_ms, phases_ms, status, detail, excerpt, headers,
  offline) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** By its end, as that has an index. */
const MARK_OFFLINE =
  "UPDATE polls SET offline = 1 WHERE ended_at_ms = ? AND upstream = ? AND poll = ? AND offline = 0";

const takeBackFailed = (table: "minutes" | "hours"): string =>
  `UPDATE ${table} SET failed = failed - 1 WHERE bucket = ? AND upstream = ? AND failed > 0`;

const addRollUp = (
  table: "minutes" | "hours",
): string => `INSERT INTO ${table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET polls = polls + excluded.polls, ok = ok + excluded.ok, failed = failed + excluded.failed,
  throttled = throttled + excluded.throttled, within_objective = within_objective + excluded.within_objective,
  ok_duration_ms = ok_duration_ms + excluded.ok_duration_ms,
  slowest_ok_ms = max(slowest_ok_ms, excluded.slowest_ok_ms)`;

const PUT_INCIDENT = `INSERT OR REPLACE INTO incidents
  (upstream, started_at_ms, ended_at_ms, updated_at_ms, state, reason, polls) VALUES (?, ?, ?, ?, ?, ?, ?)`;

/** Writes each batch completely or not at all, so roll-ups always match the polls that they count. */
export class StateWriter {
  readonly #database: DatabaseSync;
  readonly #insertPoll: StatementSync;
  readonly #addMinute: StatementSync;
  readonly #addHour: StatementSync;
  readonly #markOffline: StatementSync;
  readonly #takeBackMinute: StatementSync;
  readonly #takeBackHour: StatementSync;
  readonly #putIncident: StatementSync;
  readonly #putQuota: StatementSync;
  readonly #clearWindows: StatementSync;
  readonly #putWindow: StatementSync;
  readonly #putValue: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#insertPoll = database.prepare(INSERT_POLL);
    this.#addMinute = database.prepare(addRollUp("minutes"));
    this.#addHour = database.prepare(addRollUp("hours"));
    this.#markOffline = database.prepare(MARK_OFFLINE);
    this.#takeBackMinute = database.prepare(takeBackFailed("minutes"));
    this.#takeBackHour = database.prepare(takeBackFailed("hours"));
    this.#putIncident = database.prepare(PUT_INCIDENT);
    this.#putQuota = database.prepare("INSERT OR REPLACE INTO quota_hours VALUES (?, ?, ?, ?)");
    this.#clearWindows = database.prepare("DELETE FROM learned_windows");
    this.#putWindow = database.prepare("INSERT OR REPLACE INTO learned_windows VALUES (?, ?, ?, ?, ?)");
    this.#putValue = database.prepare("INSERT OR REPLACE INTO value_hours VALUES (?, ?, ?, ?, ?, ?)");
  }

  write({ polls, foundOffline, incidents, values, quotas, windows }: StateBatch): void {
    inTransaction(this.#database, () => {
      for (const poll of polls) this.#poll(poll);
      for (const minute of rollUp(polls, MINUTE_MS)) addTo(this.#addMinute, minute);
      for (const hour of rollUp(polls, HOUR_MS)) addTo(this.#addHour, hour);
      for (const found of foundOffline) this.#foundOffline(found);
      for (const incident of incidents) this.#incident(incident);
      for (const value of values) this.#value(value);
      for (const { budget, hour, requests, unconfirmed } of quotas) {
        this.#putQuota.run(budget, hour, requests, unconfirmed);
      }
      if (windows !== undefined) this.#clearWindows.run();
      for (const { budget, key, limit, perMs, from } of windows ?? []) {
        this.#putWindow.run(budget, key, limit ?? null, perMs, from);
      }
    });
  }

  #poll({ upstream, endedAtMs, withinObjective, status }: SavedPoll): void {
    this.#insertPoll.run(
      upstream,
      status.id,
      status.origin,
      Math.round(status.atMs),
      Math.round(endedAtMs),
      status.outcome,
      status.reason,
      Number(status.degraded),
      Number(withinObjective),
      status.durationMs,
      JSON.stringify(status.phasesMs),
      status.status ?? null,
      status.detail,
      status.excerpt ?? null,
      status.headers === undefined ? null : JSON.stringify(status.headers),
      Number(status.offline ?? false),
    );
  }

  #value(saved: SavedUpstreamValue): void {
    const { upstream, name, atMs, value, refilled } = saved;
    this.#putValue.run(upstream, name, hourOf(saved), Math.round(atMs), value, refilled);
  }

  /** Once for each poll, however often it is written: a batch may be sent again. */
  #foundOffline({ upstream, pollId, endedAtMs }: SavedAsTheirs): void {
    const { changes } = this.#markOffline.run(Math.round(endedAtMs), upstream, pollId);
    if (changes === 0) return;
    this.#takeBackMinute.run(Math.floor(endedAtMs / MINUTE_MS), upstream);
    this.#takeBackHour.run(Math.floor(endedAtMs / HOUR_MS), upstream);
  }

  #incident({ upstream, startedAtMs, endedAtMs, updatedAtMs, state, reason, polls }: SavedIncident): void {
    const ended = endedAtMs === undefined ? null : Math.round(endedAtMs);
    this.#putIncident.run(
      upstream,
      Math.round(startedAtMs),
      ended,
      Math.round(updatedAtMs),
      state,
      reason,
      polls,
    );
  }
}

function addTo(statement: StatementSync, sum: RollUp): void {
  const { bucket, upstream, polls, ok, failed, throttled, withinObjective, okDurationMs, slowestOkMs } = sum;
  statement.run(bucket, upstream, polls, ok, failed, throttled, withinObjective, okDurationMs, slowestOkMs);
}
