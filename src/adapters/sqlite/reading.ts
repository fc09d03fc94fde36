import type { DatabaseSync } from "node:sqlite";
import { PHASES } from "../../core/exchange/exchange.ts";
import { HEALTH_STATES } from "../../core/poll/health.ts";
import { FAILURES_KEPT, HOURS_KEPT, MINUTES_KEPT, POLLS_KEPT } from "../../core/history/history.ts";
import { INCIDENTS_KEPT } from "../../core/history/incidents.ts";
import { type LearnedWindow, LESSONS } from "../../core/budget/learned-windows.ts";
import { LONGEST_WINDOW_MS } from "../../core/answer/credit.ts";
import type { SavedValue } from "../../core/history/kept-values.ts";
import type { QuotaRow } from "../../core/budget/quota-journal.ts";
import type { CountedBucket } from "../../core/history/rolling-counts.ts";
import type { RestoredUpstream } from "../../core/history/state.ts";
import type { Incident, PollStatus } from "../../core/status/status.ts";
import { versionOf } from "./database.ts";
import type { Restored } from "./messages.ts";
import { readRows, type Row } from "./rows.ts";
import { MINUTE_MS, HOUR_MS } from "../../core/time/duration.ts";

const ORIGINS = ["schedule", "confirm", "first"] as const;
const OUTCOMES = ["ok", "failed", "throttled"] as const;

type Part = { -readonly [Key in keyof RestoredUpstream]: RestoredUpstream[Key][number][] };

export function readState(database: DatabaseSync, nowMs: number): Restored {
  const upstreams = new Map<string, Part>();
  const of = (name: string): Part => {
    const part = upstreams.get(name) ?? {
      polls: [],
      failures: [],
      incidents: [],
      minutes: [],
      hours: [],
      values: [],
    };
    upstreams.set(name, part);
    return part;
  };
  for (const upstream of namesIn(database)) {
    of(upstream).polls = newestPolls(database, upstream, "", POLLS_KEPT);
    of(upstream).failures = newestPolls(database, upstream, "AND outcome <> 'ok'", FAILURES_KEPT);
  }
  for (const incident of newestIncidents(database)) of(incident.upstream).incidents.push(incident);
  const minutesFrom = Math.floor(nowMs / MINUTE_MS) - MINUTES_KEPT;
  for (const [upstream, minute] of countedFrom(database, "minutes", minutesFrom))
    of(upstream).minutes.push(minute);
  const hoursFrom = Math.floor(nowMs / HOUR_MS) - HOURS_KEPT;
  for (const [upstream, hour] of countedFrom(database, "hours", hoursFrom)) of(upstream).hours.push(hour);
  for (const [upstream, value] of valuesFrom(database, nowMs - LONGEST_WINDOW_MS))
    of(upstream).values.push(value);
  return { upstreams, ...readQuotas(database), windows: readWindows(database) };
}

/** Not each is in a file of an older version that could not be written yet. */
function hasTable(database: DatabaseSync, name: string): boolean {
  return database.prepare("SELECT name FROM sqlite_schema WHERE name = ?").get(name) !== undefined;
}

function valuesFrom(
  database: DatabaseSync,
  fromMs: number,
): readonly (readonly [upstream: string, value: SavedValue])[] {
  if (!hasTable(database, "value_hours")) return [];
  const rows = database.prepare("SELECT * FROM value_hours WHERE at_ms >= ? ORDER BY at_ms").all(fromMs);
  return readRows(rows, (row) => {
    const point = { atMs: row.whole("at_ms"), value: row.number("value"), refilled: row.number("refilled") };
    return [row.text("upstream"), { name: row.text("name"), ...point }] as const;
  });
}

export function readWindows(database: DatabaseSync): ReadonlyMap<string, readonly LearnedWindow[]> {
  const windows = new Map<string, LearnedWindow[]>();
  if (!hasTable(database, "learned_windows")) return windows;
  for (const { budget, learned } of readRows(
    database.prepare("SELECT * FROM learned_windows").all(),
    windowOf,
  )) {
    windows.set(budget, [...(windows.get(budget) ?? []), learned]);
  }
  return windows;
}

function windowOf(row: Row): { budget: string; learned: LearnedWindow } {
  const perMs = row.number("per_ms");
  const learned = {
    key: row.text("family"),
    limit: row.has("requests") ? row.number("requests") : undefined,
    perMs: Math.max(1, perMs),
    from: row.oneOf("learned_from", LESSONS),
  };
  return { budget: row.text("budget"), learned };
}

/** Before version 3, what a killed process may have sent stood in a table of its own. The file is not migrated yet. */
const QUOTAS_BEFORE_3 = `SELECT budget, hour, requests, 0 AS unconfirmed FROM quota_hours
  UNION ALL SELECT budget, hour, requests, requests FROM quota_reserves`;

export function readQuotas(database: DatabaseSync): Pick<Restored, "quotas" | "unconfirmedQuotas"> {
  const quotas = new Map<string, Map<number, number>>();
  const unconfirmedQuotas = new Map<string, Map<number, number>>();
  const rows = database
    .prepare(versionOf(database) < 3 ? QUOTAS_BEFORE_3 : "SELECT * FROM quota_hours")
    .all();
  for (const { budget, hour, requests, unconfirmed } of readRows(rows, quotaOf)) {
    addTo(quotas, budget, hour, requests);
    if (unconfirmed > 0) addTo(unconfirmedQuotas, budget, hour, Math.min(requests, unconfirmed));
  }
  return { quotas, unconfirmedQuotas };
}

function addTo(to: Map<string, Map<number, number>>, budget: string, hour: number, requests: number): void {
  const buckets = to.get(budget) ?? new Map<number, number>();
  to.set(budget, buckets.set(hour, (buckets.get(hour) ?? 0) + requests));
}

function quotaOf(row: Row): QuotaRow {
  return {
    budget: row.text("budget"),
    hour: row.whole("hour"),
    requests: row.whole("requests", 0),
    unconfirmed: row.whole("unconfirmed", 0),
  };
}

function namesIn(database: DatabaseSync): readonly string[] {
  const rows = database.prepare("SELECT DISTINCT upstream FROM polls").all();
  return readRows(rows, (row) => row.text("upstream"));
}

function newestPolls(database: DatabaseSync, upstream: string, which: string, most: number): PollStatus[] {
  const sql = `SELECT * FROM polls WHERE upstream = ? ${which} ORDER BY id DESC LIMIT ${most}`;
  return readRows(database.prepare(sql).all(upstream), pollOf).toReversed();
}

function pollOf(row: Row): PollStatus {
  return {
    id: row.text("poll"),
    origin: row.oneOf("origin", ORIGINS),
    atMs: row.whole("sent_at_ms"),
    outcome: row.oneOf("outcome", OUTCOMES),
    reason: row.text("reason"),
    degraded: row.whole("degraded") === 1,
    durationMs: row.number("duration_ms"),
    phasesMs: row.numbers("phases_ms", PHASES),
    status: row.has("status") ? row.whole("status") : undefined,
    detail: row.text("detail"),
    excerpt: row.has("excerpt") ? row.text("excerpt") : undefined,
    ...(row.has("headers") ? { headers: row.headers("headers") } : {}),
    ...(row.isSet("offline") ? { offline: true } : {}),
  };
}

/** An older one that was never closed (its upstream left the config) ended at its last update. */
function newestIncidents(database: DatabaseSync): readonly Incident[] {
  const sql = `SELECT * FROM (
    SELECT *, row_number() OVER (PARTITION BY upstream ORDER BY started_at_ms DESC) AS place FROM incidents
  ) WHERE place <= ${INCIDENTS_KEPT} ORDER BY upstream, started_at_ms DESC`;
  const seen = new Set<string>();
  return readRows(database.prepare(sql).all(), (row) => {
    const upstream = row.text("upstream");
    const updatedAtMs = row.whole("updated_at_ms");
    const incident = {
      upstream,
      state: row.oneOf("state", HEALTH_STATES),
      reason: row.text("reason"),
      startedAtMs: row.whole("started_at_ms"),
      polls: row.whole("polls"),
    };
    const endedAtMs = row.has("ended_at_ms") ? row.whole("ended_at_ms") : undefined;
    const isNewest = !seen.has(upstream);
    seen.add(upstream);
    return { ...incident, endedAtMs: endedAtMs ?? (isNewest ? undefined : updatedAtMs) };
  });
}

function countedFrom(
  database: DatabaseSync,
  table: "minutes" | "hours",
  bucket: number,
): readonly (readonly [upstream: string, counted: CountedBucket])[] {
  const sql = `SELECT upstream, bucket, ok, failed FROM ${table} WHERE bucket >= ? ORDER BY bucket`;
  return readRows(database.prepare(sql).all(bucket), (row) => {
    const counted = { index: row.whole("bucket"), ok: row.whole("ok", 0), failed: row.whole("failed", 0) };
    return [row.text("upstream"), counted] as const;
  });
}
