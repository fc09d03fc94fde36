import type { DatabaseSync } from "node:sqlite";
import { PHASES } from "../../core/exchange/exchange.ts";
import { HEALTH_STATES } from "../../core/poll/health.ts";
import { FAILURES_KEPT, HOURS_KEPT, MINUTES_KEPT, POLLS_KEPT } from "../../core/history/history.ts";
import { INCIDENTS_KEPT } from "../../core/history/incidents.ts";
import { type LearnedWindow, LESSONS } from "../../core/budget/learned-windows.ts";
import type { QuotaBuckets } from "../../core/budget/quota.ts";
import type { CountedBucket } from "../../core/history/rolling-counts.ts";
import { HOUR_MS, MINUTE_MS } from "../../core/history/rollup.ts";
import type { RestoredUpstream } from "../../core/history/state.ts";
import type { Incident, PollStatus } from "../../core/status/status.ts";
import type { Restored } from "./messages.ts";
import { readRows, type Row } from "./rows.ts";

const ORIGINS = ["schedule", "confirm", "first"] as const;
const OUTCOMES = ["ok", "failed", "throttled"] as const;

type Part = { -readonly [Key in keyof RestoredUpstream]: RestoredUpstream[Key][number][] };

export function readState(database: DatabaseSync, nowMs: number): Restored {
  const upstreams = new Map<string, Part>();
  const of = (name: string): Part => {
    const part = upstreams.get(name) ?? { polls: [], failures: [], incidents: [], minutes: [], hours: [] };
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
  return { upstreams, quotas: readQuotas(database), windows: readWindows(database) };
}

/** None in a file of an older version that could not be written yet. */
export function readWindows(database: DatabaseSync): ReadonlyMap<string, readonly LearnedWindow[]> {
  const table = database.prepare("SELECT name FROM sqlite_schema WHERE name = 'learned_windows'").get();
  const windows = new Map<string, LearnedWindow[]>();
  if (table === undefined) return windows;
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

/** What was sent, plus what may have been sent since the last count. */
export function readQuotas(database: DatabaseSync): ReadonlyMap<string, QuotaBuckets> {
  const quotas = new Map<string, Map<number, number>>();
  const rows = database.prepare("SELECT * FROM quota_hours UNION ALL SELECT * FROM quota_reserves").all();
  for (const { budget, hour, requests } of readRows(rows, quotaOf)) {
    const buckets = quotas.get(budget) ?? new Map<number, number>();
    buckets.set(hour, (buckets.get(hour) ?? 0) + requests);
    quotas.set(budget, buckets);
  }
  return quotas;
}

function quotaOf(row: Row): { budget: string; hour: number; requests: number } {
  return { budget: row.text("budget"), hour: row.whole("hour"), requests: row.whole("requests", 0) };
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
