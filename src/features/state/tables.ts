/** Each table both ways: the row that is written, and what is read of it. */

import { crc32 } from "node:zlib";
import { type KeptHeader, PHASES } from "../../kernel/exchange/exchange.ts";
import { OUTCOMES } from "../../kernel/exchange/reasons.ts";
import { FAILURES_COUNTED } from "../history/state.ts";
import { HEALTH_STATES } from "../../kernel/poll/health.ts";
import type { SavedValue } from "../history/tracks.ts";
import type { CountedBucket } from "../history/timeline.ts";
import type { SavedPoll } from "../history/state.ts";
import type { Note } from "../../kernel/text/notes.ts";
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
  parsed,
  type Row,
  text,
  whole,
} from "../../kernel/text/rows.ts";
import type { PollStatus } from "../history/kept-poll.ts";
import { type Incident, whyIn } from "../history/incidents.ts";

const ORIGINS = ["schedule", "confirm", "again", "first"] as const;

export type Columns = Readonly<Record<string, string | number | null>>;

/** A row that replaces the one with its key, so that only the last one has to be written. */
export type KeyedRow = {
  readonly table: "incidents" | "value_hours" | "notes";
  readonly key: string;
  readonly columns: Columns;
  /** It is dropped first where too many wait. */
  readonly isLeast?: true;
};

export function pollColumns({ upstream, endedAtMs, watchedMs, status, knownUntilMs }: SavedPoll): Columns {
  const { id, outcome, ...facts } = status;
  return {
    upstream,
    poll: id,
    ended_at_ms: Math.round(endedAtMs),
    outcome,
    watched_ms: watchedMs,
    facts: JSON.stringify({ ...facts, knownUntilMs }),
  };
}

export function pollOf(row: Row): PollStatus {
  return {
    id: row.get("poll", text),
    outcome: row.get("outcome", oneOf(OUTCOMES)),
    ...row.get("facts", json(factsOf)),
  };
}

export function knownUntilOf(row: Row): number | undefined {
  return row.get(
    "facts",
    json((facts) => facts.get("knownUntilMs", optional(number))),
  );
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

/** Columns of a minute, and of an hour. */
export const COUNTS: readonly string[] =
  "polls ok failed throttled rejected within_objective watched_ms failed_ms".split(" ");
/** Further ones of an hour. */
export const MINUTES_COUNTED: readonly string[] = [
  "offline",
  "watched_minutes",
  "all_failed_minutes",
  ...FAILURES_COUNTED.map(failedMinutes),
];
const OK_DURATION = "ok_duration_ms";
export const MINUTE_SUMS: readonly string[] = [...COUNTS, OK_DURATION];
export const HOUR_SUMS: readonly string[] = [...MINUTE_SUMS, ...MINUTES_COUNTED];
export const SLOWEST = "slowest_ok_ms";
export const DURATIONS: readonly string[] = [OK_DURATION, SLOWEST];

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
  const { reasons, answeredBy } = incident;
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
      why: JSON.stringify({ reasons, answeredBy }),
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
    ...row.get("why", json(whyIn)),
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

export function noteRow({ kind, key, json: content, untilMs, isLeast }: Note): KeyedRow {
  const json = JSON.stringify(content);
  return {
    table: "notes",
    key: `${kind} ${key}`,
    columns: {
      kind,
      key,
      json,
      until_ms: untilMs === undefined ? null : Math.round(untilMs),
      checksum: checksumOf(kind, key, json),
    },
    ...(isLeast && { isLeast }),
  };
}

/** SQLite keeps no checksums, and some notes are money. */
function checksumOf(...texts: readonly string[]): number {
  return crc32(JSON.stringify(texts));
}

export function noteOf(row: Row): Note {
  const [kind, key] = [row.get("kind", text), row.get("key", text)];
  row.get("checksum", exactly(checksumOf(kind, key, row.get("json", text))));
  const untilMs = row.get("until_ms", optional(whole));
  return { kind, key, json: row.get("json", parsed), ...(untilMs !== undefined && { untilMs }) };
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
