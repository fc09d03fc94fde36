/** Each table both ways: the row that is written, and what is read of it. */

import { crc32 } from "node:zlib";
import { type KeptHeader, PHASES } from "../../kernel/exchange/exchange.ts";
import { OUTCOMES } from "../../kernel/exchange/reasons.ts";
import { isOpen, type Notified, notifiedIn } from "../notify/plan/transitions.ts";
import { FAILURES_COUNTED } from "../history/state.ts";
import { HEALTH_STATES } from "../../kernel/poll/health.ts";
import { type KeptQuotas, NOBODY_KNOWS, type QuotaRow, QUOTAS_OF } from "../quota/quota.ts";
import { type BudgetRecord, type PauseRecord, recordIn } from "../hints/record.ts";
import type { SavedValue } from "../history/kept-values.ts";
import type { CountedBucket } from "../history/timeline.ts";
import type { SavedPoll } from "../history/state.ts";
import { hourOf } from "../../kernel/time/duration.ts";
import {
  count,
  exactly,
  flag,
  json,
  listOf,
  number,
  numbersOf,
  objectOf,
  oneOf,
  optional,
  type Row,
  text,
  whole,
} from "../../kernel/text/rows.ts";
import type { PollStatus } from "../history/kept-poll.ts";
import type { Incident } from "../history/incidents.ts";

const ORIGINS = ["schedule", "confirm", "again", "first"] as const;

export type Columns = Readonly<Record<string, string | number | null>>;

/** A row that replaces the one with its key, so that only the last one has to be written. */
export type KeyedRow = {
  readonly table:
    | "incidents"
    | "value_hours"
    | "quota_hours"
    | "lost_hours"
    | "budget_records"
    | "upstream_records"
    | "notifications";
  readonly key: string;
  readonly columns: Columns;
};

export function pollColumns({ upstream, endedAtMs, watchedMs, status }: SavedPoll): Columns {
  const { id, outcome, ...facts } = status;
  return {
    upstream,
    poll: id,
    ended_at_ms: Math.round(endedAtMs),
    outcome,
    watched_ms: watchedMs,
    facts: JSON.stringify(facts),
  };
}

export function pollOf(row: Row): PollStatus {
  return {
    id: row.get("poll", text),
    outcome: row.get("outcome", oneOf(OUTCOMES)),
    ...row.get("facts", json(factsOf)),
  };
}

function factsOf(facts: Row): Omit<PollStatus, "id" | "outcome"> {
  const headers = facts.get("headers", optional(listOf(objectOf(headerOf))));
  return {
    origin: facts.get("origin", oneOf(ORIGINS)),
    atMs: facts.get("atMs", number),
    reason: facts.get("reason", text),
    degraded: facts.get("degraded", flag),
    durationMs: facts.get("durationMs", number),
    phasesMs: facts.get("phasesMs", numbersOf(PHASES)),
    status: facts.get("status", optional(whole)),
    detail: facts.get("detail", text),
    excerpt: facts.get("excerpt", optional(text)),
    ...(headers !== undefined && { headers }),
  };
}

function headerOf(header: Row): KeptHeader {
  const value = header.get("value", optional(text));
  const kept = { name: header.get("name", text), bytes: header.get("bytes", whole) };
  return value === undefined ? kept : { ...kept, value };
}

/** The column of the minutes of an hour with at least so many failures. */
export function failedMinutes(failures: number): string {
  return `failed_minutes_${failures}`;
}

/** These columns of a minute, and of an hour, are sums. */
export const MINUTE_SUMS: readonly string[] =
  "polls ok failed throttled rejected within_objective watched_ms failed_ms ok_duration_ms".split(" ");
export const HOUR_SUMS: readonly string[] = [
  ...MINUTE_SUMS,
  "offline",
  "watched_minutes",
  "all_failed_minutes",
  ...FAILURES_COUNTED.map(failedMinutes),
];
export const SLOWEST = "slowest_ok_ms";

/** How each column of a day is made of those of its hours. */
export const DAY_SUMS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(HOUR_SUMS.map((column) => [column, `total(${column})`])),
  [SLOWEST]: `max(${SLOWEST})`,
};

export function incidentRow(
  incident: Incident,
  evidence: readonly PollStatus[],
  updatedAtMs: number,
): KeyedRow {
  const { upstream, startedAtMs, endedAtMs, isUnwatched = false, state, reason, polls } = incident;
  return {
    table: "incidents",
    key: `${upstream} ${startedAtMs}`,
    columns: {
      upstream,
      started_at_ms: Math.round(startedAtMs),
      ended_at_ms: endedAtMs === undefined ? null : Math.round(endedAtMs),
      unwatched: Number(isUnwatched),
      updated_at_ms: Math.round(updatedAtMs),
      state,
      reason,
      polls,
      evidence: JSON.stringify({ polls: evidence }),
    },
  };
}

/** Later in the file too: where the clock was set back, a poll from before it may have a later time. */
const OK_SINCE = `EXISTS (SELECT 1 FROM polls
  WHERE polls.upstream = incidents.upstream AND outcome = 'ok' AND polls.ended_at_ms > updated_at_ms
  AND id > (SELECT coalesce(max(id), 0) FROM polls
    WHERE polls.upstream = incidents.upstream AND outcome <> 'ok' AND polls.ended_at_ms <= updated_at_ms))`;

/**
 * One that was not closed before the next one began, or before a poll was ok, ended when it was last heard of, as nobody
 * looked any more; but where we were offline, we looked on.
 */
export function closedWhere(isFormer: string): string {
  const isLeft = `iif(ended_at_ms IS NULL, ${isFormer} OR ${OK_SINCE}, 0)`;
  return `iif(${isLeft}, updated_at_ms, ended_at_ms) AS ended_at_ms,
    unwatched OR (${isLeft} AND reason <> 'offline') AS unwatched`;
}

/** Of an incident that is over it is not asked for, where it is only shown. */
export function evidenceOf(row: Row): readonly PollStatus[] {
  const pollIn = (poll: Row): PollStatus => ({
    id: poll.get("id", text),
    outcome: poll.get("outcome", oneOf(OUTCOMES)),
    ...factsOf(poll),
  });
  return row.get("evidence", optional(json((each) => each.get("polls", listOf(objectOf(pollIn)))))) ?? [];
}

export function incidentOf(row: Row): Incident {
  return {
    upstream: row.get("upstream", text),
    state: row.get("state", oneOf(HEALTH_STATES)),
    reason: row.get("reason", text),
    startedAtMs: row.get("started_at_ms", whole),
    endedAtMs: row.get("ended_at_ms", optional(whole)),
    ...(row.get("unwatched", whole) === 1 && { isUnwatched: true }),
    polls: row.get("polls", whole),
  };
}

/** Later values of an hour replace the earlier ones, so that a week of it takes 168 rows. */
export function valueRow(upstream: string, saved: SavedValue): KeyedRow {
  const { name, atMs, value, refilled } = saved;
  const hour = hourOf(saved.atMs);
  return {
    table: "value_hours",
    key: `${hour} ${upstream} ${name}`,
    columns: { upstream, name, hour, at_ms: Math.round(atMs), value, refilled },
  };
}

export function valueOf(row: Row): SavedValue {
  return {
    name: row.get("name", text),
    atMs: row.get("at_ms", whole),
    value: row.get("value", number),
    refilled: row.get("refilled", number),
  };
}

/** Where nobody knows how many they were. */
const UNKNOWN = -1;

export function quotaRow({ budget, of, hour, ...counts }: QuotaRow): KeyedRow {
  const requests = storedCount(counts.requests);
  const unconfirmed = storedCount(counts.unconfirmed);
  const checksum = crc32(JSON.stringify([budget, of, hour, requests, unconfirmed]));
  return {
    table: "quota_hours",
    key: `${hour} ${of} ${budget}`,
    columns: { budget, counts: of, hour, requests, unconfirmed, checksum },
  };
}

function lostHourRow(hour: number): KeyedRow {
  return { table: "lost_hours", key: `${hour}`, columns: { hour, checksum: crc32(`${hour}`) } };
}

export function rowsOf({ rows, lostHours }: KeptQuotas): readonly KeyedRow[] {
  return [...rows.map(quotaRow), ...lostHours.map(lostHourRow)];
}

/** Answers may claim to have cost so much that SQLite would keep it, and nobody could read it again. */
function storedCount(units: number): number {
  return units === NOBODY_KNOWS ? UNKNOWN : Math.min(units, Number.MAX_SAFE_INTEGER);
}

/** SQLite keeps no checksums, and these counts are money. */
export function quotaOf(row: Row): QuotaRow {
  const countIn = (name: string): number => {
    const stored = row.get(name, whole);
    return stored === UNKNOWN ? NOBODY_KNOWS : count(stored);
  };
  const read = {
    budget: row.get("budget", text),
    of: row.get("counts", oneOf(QUOTAS_OF)),
    hour: row.get("hour", whole),
    requests: countIn("requests"),
    unconfirmed: countIn("unconfirmed"),
  };
  row.get("checksum", exactly(quotaRow(read).columns["checksum"]));
  return read;
}

export function lostHourOf(row: Row): number {
  const hour = row.get("hour", whole);
  row.get("checksum", exactly(lostHourRow(hour).columns["checksum"]));
  return hour;
}

/** All that is kept of a budget beside its quota. */
export function budgetRow(budget: string, record: BudgetRecord): KeyedRow {
  return { table: "budget_records", key: budget, columns: { budget, record: JSON.stringify(record) } };
}

export function budgetOf(row: Row): readonly [budget: string, record: BudgetRecord] {
  return [row.get("budget", text), row.get("record", json(recordIn))];
}

export function pauseRow(upstream: string, record: PauseRecord): KeyedRow {
  return { table: "upstream_records", key: upstream, columns: { upstream, record: JSON.stringify(record) } };
}

export function pauseOf(row: Row): readonly [upstream: string, record: PauseRecord] {
  const pauseIn = (record: Row): PauseRecord => ({ pausedUntilMs: record.get("pausedUntilMs", number) });
  return [row.get("upstream", text), row.get("record", json(pauseIn))];
}

/** A receiver itself is the row of no alert: since then it is known. */
export function receiverRow(receiver: string, sinceMs: number): KeyedRow {
  return notificationRow(receiver, "", { at_ms: Math.round(sinceMs), is_open: 1, record: "{}" });
}

export function notifiedRow(notified: Notified): KeyedRow {
  const { receiver, alert, atMs } = notified;
  const record = JSON.stringify(notified);
  return notificationRow(receiver, alert, {
    at_ms: Math.round(atMs),
    is_open: Number(isOpen(notified)),
    record,
  });
}

function notificationRow(receiver: string, alert: string, columns: Columns): KeyedRow {
  return { table: "notifications", key: `${receiver} ${alert}`, columns: { receiver, alert, ...columns } };
}

export function receiverOf(row: Row): readonly [receiver: string, sinceMs: number] {
  row.get("alert", exactly(""));
  return [row.get("receiver", text), row.get("at_ms", whole)];
}

export function notifiedOf(row: Row): Notified {
  return row.get("record", json(notifiedIn));
}

/** The rest of its polls is ours. */
export function bucketOf(row: Row): CountedBucket {
  const counts = {
    ok: row.get("ok", count),
    failed: row.get("failed", count),
    throttled: row.get("throttled", count),
    rejected: row.get("rejected", count),
  };
  const told = Object.values(counts).reduce((sum, each) => sum + each);
  return {
    index: row.get("bucket", whole),
    ...counts,
    ours: Math.max(0, row.get("polls", count) - told),
    okMs: row.get("ok_duration_ms", number),
    longestMs: row.get("slowest_ok_ms", number),
    watchedMs: row.get("watched_ms", count),
    failedMs: row.get("failed_ms", count),
    withinObjective: row.get("within_objective", count),
  };
}
