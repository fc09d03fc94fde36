import type { DatabaseSync } from "node:sqlite";
import { FAILURES_COUNTED } from "../../core/config/config.ts";
import type { DaySums, Kept, KeptIncident } from "../../core/report/kept.ts";
import type { Period } from "../../core/report/period.ts";
import { hourOf } from "../../core/time/duration.ts";
import { readBeside } from "./quiet-file.ts";
import { count, number, readRows, type Row, text, whole } from "../../core/exchange/rows.ts";
import { newestVersion, versionOf } from "./schema.ts";
import { evidenceOf, failedMinutes, incidentOf } from "./tables.ts";
import { StateFileError } from "./trouble.ts";

const sums = (names: readonly string[]): string =>
  names.map((name) => `total(${name}) AS ${name}`).join(", ");

/** A day is one range of the table's key, with the hours of all upstreams in it. Sorted a day at a time, they stay in memory. */
const DAY = `SELECT upstream, :day AS day, ${sums(["polls", "ok", "failed", "throttled", "rejected", "within_objective"])},
  ${sums(["offline", "ok_duration_ms", "watched_minutes", "all_failed_minutes", ...FAILURES_COUNTED.map(failedMinutes)])},
  max(slowest_ok_ms) AS slowest_ok_ms, count(*) - count(watched_minutes) AS hours_without_minutes
  FROM hours WHERE bucket >= :from AND bucket < :to AND upstream IN (SELECT value FROM json_each(:upstreams)) GROUP BY upstream`;

/** One that was never closed, and was followed by others, ended when it was last heard of. */
const INCIDENTS = `SELECT *, CASE WHEN ended_at_ms IS NULL AND EXISTS (SELECT 1 FROM incidents AS later
    WHERE later.upstream = incidents.upstream AND later.started_at_ms > incidents.started_at_ms)
  THEN updated_at_ms ELSE ended_at_ms END AS ended_at_ms
  FROM incidents WHERE upstream IN (SELECT value FROM json_each(:upstreams))
  AND coalesce(ended_at_ms, updated_at_ms) >= :from ORDER BY started_at_ms`;

/** They are read in a few milliseconds, so that a daemon that writes each half second leaves time enough. */
const DAYS_AT_ONCE = 8;

/** Reads a state file beside the daemon that writes it. By upstream. */
export function keptIn(
  path: string,
  upstreams: readonly string[],
  { fromMs, days }: Period,
): ReadonlyMap<string, Kept> {
  const named = JSON.stringify(upstreams);
  const found: DaySums[] = [];
  for (let place = 0; place < days.length; place += DAYS_AT_ONCE) {
    const some = days.slice(place, place + DAYS_AT_ONCE);
    const read = (database: DatabaseSync): readonly unknown[] => {
      const day = requireVersion(database).prepare(DAY);
      return some.flatMap(({ name, fromMs: from, toMs: to }) =>
        day.all({ day: name, from: hourOf(from), to: hourOf(to), upstreams: named }),
      );
    };
    found.push(...readRows(readBeside(path, read), dayOf));
  }
  const incidents = readBeside(path, (database) =>
    requireVersion(database).prepare(INCIDENTS).all({ upstreams: named, from: fromMs }),
  );
  const byUpstream = Map.groupBy(found, ({ upstream }) => upstream);
  const incidentsByUpstream = Map.groupBy(readRows(incidents, keptIncidentOf), ({ upstream }) => upstream);
  return new Map(
    upstreams.map((name) => [
      name,
      { days: byUpstream.get(name) ?? [], incidents: incidentsByUpstream.get(name) ?? [] },
    ]),
  );
}

function requireVersion(database: DatabaseSync): DatabaseSync {
  const version = versionOf(database);
  if (version === newestVersion()) return database;
  const whose =
    version > newestVersion()
      ? "a newer pacewatch"
      : "an earlier pacewatch: start this one once, which takes its steps";
  throw new StateFileError("foreign", `was written by ${whose}`);
}

function dayOf(row: Row): DaySums {
  return {
    upstream: row.get("upstream", text),
    day: row.get("day", text),
    polls: row.get("polls", count),
    ok: row.get("ok", count),
    failed: row.get("failed", count),
    throttled: row.get("throttled", count),
    rejected: row.get("rejected", count),
    offline: row.get("offline", count),
    withinObjective: row.get("within_objective", count),
    okMs: row.get("ok_duration_ms", number),
    slowestMs: row.get("slowest_ok_ms", number),
    watchedMinutes: row.get("watched_minutes", count),
    allFailedMinutes: row.get("all_failed_minutes", count),
    failedMinutes: FAILURES_COUNTED.map((failures) => row.get(failedMinutes(failures), count)),
    hoursWithoutMinutes: row.get("hours_without_minutes", count),
  };
}

function keptIncidentOf(row: Row): KeptIncident {
  return { ...incidentOf(row), evidence: evidenceOf(row), seenAtMs: row.get("updated_at_ms", whole) };
}
