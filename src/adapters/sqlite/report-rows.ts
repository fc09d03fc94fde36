import type { DatabaseSync } from "node:sqlite";
import type { BadUnit } from "../../core/config/config.ts";
import { isObject } from "../../core/exchange/json-value.ts";
import type { Period } from "../../core/report/period.ts";
import {
  FIGURES,
  type Figures,
  type Kept,
  type KeptCost,
  type KeptDay,
  type KeptIncident,
} from "../../core/report/report.ts";
import { hourOf } from "../../core/time/duration.ts";
import { readBeside } from "./quiet-file.ts";
import { count, number, readRows, type Row, text, whole } from "../../core/exchange/rows.ts";
import { newestVersion, versionOf } from "./schema.ts";
import { evidenceOf, failedMinutes, incidentOf } from "./tables.ts";
import { StateFileError } from "./trouble.ts";

const NAMED = "upstream IN (SELECT value FROM json_each(:upstreams))";

/** A day is one range of the table's key, with the hours of all upstreams in it. Sorted a day at a time, they stay in memory. */
function daysWith(badUnit: BadUnit | undefined): string {
  const columns: Readonly<Record<keyof Figures, string>> = {
    polls: "total(polls)",
    ok: "total(ok)",
    failed: "total(failed)",
    throttled: "total(throttled)",
    rejected: "total(rejected)",
    offline: "total(offline)",
    withinObjective: "total(within_objective)",
    okMs: "total(ok_duration_ms)",
    slowestMs: "max(slowest_ok_ms)",
    watchedMinutes: "total(watched_minutes)",
    badMinutes: `total(${badUnit === undefined ? 0 : badMinutes(badUnit)})`,
    hoursWithoutMinutes: "count(*) - count(watched_minutes)",
  };
  const named = FIGURES.map((figure) => `${columns[figure]} AS ${figure}`).join(", ");
  return `SELECT upstream, :day AS day, ${named} FROM hours WHERE bucket >= :from AND bucket < :to AND ${NAMED} GROUP BY upstream`;
}

function badMinutes(badUnit: BadUnit): string {
  if (badUnit === "all_failed") return "all_failed_minutes";
  return failedMinutes(badUnit === "any_failed" ? 1 : badUnit.failures);
}

const COSTS = `SELECT upstream, :month AS month, currency, total(polls) AS polls, total(units) AS units
  FROM cost_hours WHERE bucket >= :from AND bucket < :to AND ${NAMED} GROUP BY upstream, currency`;

/** One that was never closed, and was followed by others, ended when it was last heard of. */
const INCIDENTS = `SELECT *, CASE WHEN ended_at_ms IS NULL AND EXISTS (SELECT 1 FROM incidents AS later
    WHERE later.upstream = incidents.upstream AND later.started_at_ms > incidents.started_at_ms)
  THEN updated_at_ms ELSE ended_at_ms END AS ended_at_ms
  FROM incidents WHERE ${NAMED}
  AND coalesce(ended_at_ms, updated_at_ms) >= :from ORDER BY started_at_ms`;

/** They are read in a few milliseconds, so that a daemon that writes each half second leaves time enough. */
const DAYS_AT_ONCE = 8;

/** Reads a state file beside the daemon that writes it. By upstream. */
export function keptIn(
  path: string,
  names: readonly string[],
  { fromMs, days, months }: Period,
  badUnit: BadUnit | undefined,
): ReadonlyMap<string, Kept> {
  const upstreams = JSON.stringify(names);
  const sql = daysWith(badUnit);
  const found: NamedDay[] = [];
  for (let place = 0; place < days.length; place += DAYS_AT_ONCE) {
    const some = days.slice(place, place + DAYS_AT_ONCE);
    const read = (database: DatabaseSync): readonly unknown[] => {
      const day = requireVersion(database).prepare(sql);
      return some.flatMap(({ name, fromMs: from, toMs: to }) =>
        day.all({ day: name, from: hourOf(from), to: hourOf(to), upstreams }),
      );
    };
    // As SQLite gives it, a row takes four times the memory of a copy.
    for (const row of readBeside(path, read)) if (isDay(row)) found.push({ ...row });
  }
  const [costs, incidents] = readBeside(path, (database) => {
    const cost = requireVersion(database).prepare(COSTS);
    const ofMonths = months.flatMap(({ name, fromMs: from, toMs: to }) =>
      cost.all({ month: name, from: hourOf(from), to: hourOf(to), upstreams }),
    );
    return [ofMonths, database.prepare(INCIDENTS).all({ upstreams, from: fromMs })] as const;
  });
  const daysOf = Map.groupBy(found, ({ upstream }) => upstream);
  const costsOf = Map.groupBy(readRows(costs, costOf), ({ upstream }) => upstream);
  const incidentsOf = Map.groupBy(readRows(incidents, keptIncidentOf), ({ upstream }) => upstream);
  return new Map(
    names.map((name) => [
      name,
      {
        days: daysOf.get(name) ?? [],
        costs: costsOf.get(name) ?? [],
        incidents: incidentsOf.get(name) ?? [],
      },
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

type NamedDay = KeptDay & { readonly upstream: string };

/** Of a year they are tens of thousands: each is taken as it is, if it is what we would write. */
function isDay(row: unknown): row is NamedDay {
  return isObject(row) && FIGURES.every((figure) => Number(row[figure]) >= 0);
}

function costOf(row: Row): KeptCost & { readonly upstream: string } {
  return {
    upstream: row.get("upstream", text),
    month: row.get("month", text),
    currency: row.get("currency", text),
    polls: row.get("polls", count),
    units: row.get("units", number),
  };
}

function keptIncidentOf(row: Row): KeptIncident {
  return { ...incidentOf(row), evidence: evidenceOf(row), seenAtMs: row.get("updated_at_ms", whole) };
}
