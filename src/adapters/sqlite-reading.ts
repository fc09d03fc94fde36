import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { PHASES } from "../core/exchange.ts";
import { HEALTH_STATES } from "../core/health.ts";
import { FAILURES_KEPT, HOURS_KEPT, MINUTES_KEPT, POLLS_KEPT } from "../core/history.ts";
import { INCIDENTS_KEPT } from "../core/incidents.ts";
import type { QuotaBuckets } from "../core/quota.ts";
import type { CountedBucket } from "../core/rolling-counts.ts";
import { HOUR_MS, MINUTE_MS } from "../core/rollup.ts";
import type { RestoredUpstream } from "../core/state.ts";
import type { Incident, PollStatus } from "../core/status.ts";
import type { Restored } from "./sqlite-messages.ts";

/** Rows are judged like any input: a damaged byte that SQLite did not notice costs its row, not the start. */
const whole = z.number().int();
const jsonText = <Output>(inner: z.ZodType<Output>): z.ZodType<Output> =>
  z.string().transform(parseJson).pipe(inner);

const pollRow = z.object({
  poll: z.string(),
  origin: z.enum(["schedule", "confirm", "first"]),
  sent_at_ms: whole,
  outcome: z.enum(["ok", "failed", "throttled"]),
  reason: z.string(),
  degraded: whole,
  duration_ms: z.number(),
  phases_ms: jsonText(z.partialRecord(z.enum(PHASES), z.number())),
  status: whole.nullable(),
  detail: z.string(),
  excerpt: z.string().nullable(),
  headers: jsonText(z.array(z.object({ name: z.string(), bytes: whole }))).nullable(),
});

const incidentRow = z.object({
  upstream: z.string(),
  started_at_ms: whole,
  ended_at_ms: whole.nullable(),
  updated_at_ms: whole,
  state: z.enum(HEALTH_STATES),
  reason: z.string(),
  polls: whole,
});

const countedRow = z.object({ upstream: z.string(), bucket: whole, ok: whole.min(0), failed: whole.min(0) });
const quotaRow = z.object({ budget: z.string(), hour: whole, requests: whole.min(0) });
const nameRow = z.object({ upstream: z.string() });

type Part = { -readonly [Key in keyof RestoredUpstream]: RestoredUpstream[Key][number][] };

export function readState(database: DatabaseSync, nowMs: number): Restored {
  const upstreams = new Map<string, Part>();
  const of = (name: string): Part => {
    const part = upstreams.get(name) ?? { polls: [], failures: [], incidents: [], minutes: [], hours: [] };
    upstreams.set(name, part);
    return part;
  };
  for (const { upstream } of namesIn(database)) {
    of(upstream).polls = newestPolls(database, upstream, "", POLLS_KEPT);
    of(upstream).failures = newestPolls(database, upstream, "AND outcome <> 'ok'", FAILURES_KEPT);
  }
  for (const incident of newestIncidents(database)) of(incident.upstream).incidents.push(incident);
  const minutesFrom = Math.floor(nowMs / MINUTE_MS) - MINUTES_KEPT;
  for (const [upstream, minute] of countedFrom(database, "minutes", minutesFrom))
    of(upstream).minutes.push(minute);
  const hoursFrom = Math.floor(nowMs / HOUR_MS) - HOURS_KEPT;
  for (const [upstream, hour] of countedFrom(database, "hours", hoursFrom)) of(upstream).hours.push(hour);
  return { upstreams, quotas: readQuotas(database) };
}

/** What was sent, and what may have been sent since it was last counted. */
export function readQuotas(database: DatabaseSync): ReadonlyMap<string, QuotaBuckets> {
  const quotas = new Map<string, Map<number, number>>();
  const rows = database.prepare("SELECT * FROM quota_hours UNION ALL SELECT * FROM quota_reserves").all();
  for (const { budget, hour, requests } of valid(quotaRow, rows)) {
    const buckets = quotas.get(budget) ?? new Map<number, number>();
    buckets.set(hour, (buckets.get(hour) ?? 0) + requests);
    quotas.set(budget, buckets);
  }
  return quotas;
}

function namesIn(database: DatabaseSync): readonly z.infer<typeof nameRow>[] {
  return valid(nameRow, database.prepare("SELECT DISTINCT upstream FROM polls").all());
}

function newestPolls(database: DatabaseSync, upstream: string, which: string, most: number): PollStatus[] {
  const sql = `SELECT * FROM polls WHERE upstream = ? ${which} ORDER BY id DESC LIMIT ${most}`;
  const rows = valid(pollRow, database.prepare(sql).all(upstream));
  return rows.map((row) => pollOf(row)).reverse();
}

function pollOf(row: z.infer<typeof pollRow>): PollStatus {
  return {
    id: row.poll,
    origin: row.origin,
    atMs: row.sent_at_ms,
    outcome: row.outcome,
    reason: row.reason,
    degraded: row.degraded === 1,
    durationMs: row.duration_ms,
    phasesMs: row.phases_ms,
    status: row.status ?? undefined,
    detail: row.detail,
    excerpt: row.excerpt ?? undefined,
    ...(row.headers === null ? {} : { headers: row.headers }),
  };
}

/** An older one that was never closed (its upstream left the config) ended when it was last heard of. */
function newestIncidents(database: DatabaseSync): readonly Incident[] {
  const sql = `SELECT * FROM (
    SELECT *, row_number() OVER (PARTITION BY upstream ORDER BY started_at_ms DESC) AS place FROM incidents
  ) WHERE place <= ${INCIDENTS_KEPT} ORDER BY upstream, started_at_ms DESC`;
  const seen = new Set<string>();
  return valid(incidentRow, database.prepare(sql).all()).map((row) => {
    const isNewest = !seen.has(row.upstream);
    seen.add(row.upstream);
    const { upstream, state, reason, polls } = row;
    const endedAtMs = row.ended_at_ms ?? (isNewest ? undefined : row.updated_at_ms);
    return { upstream, state, reason, startedAtMs: row.started_at_ms, endedAtMs, polls };
  });
}

function countedFrom(
  database: DatabaseSync,
  table: "minutes" | "hours",
  bucket: number,
): readonly (readonly [upstream: string, counted: CountedBucket])[] {
  const sql = `SELECT upstream, bucket, ok, failed FROM ${table} WHERE bucket >= ? ORDER BY bucket`;
  return valid(countedRow, database.prepare(sql).all(bucket)).map(
    ({ upstream, bucket: index, ok, failed }) => [upstream, { index, ok, failed }] as const,
  );
}

function valid<Output>(schema: z.ZodType<Output>, rows: readonly unknown[]): readonly Output[] {
  return rows.flatMap((row) => {
    const parsed = schema.safeParse(row);
    return parsed.success ? [parsed.data] : [];
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
