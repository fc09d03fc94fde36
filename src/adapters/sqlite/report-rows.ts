import type { DatabaseSync } from "node:sqlite";
import { isList } from "../../core/exchange/json-value.ts";
import type { Period } from "../../core/report/period.ts";
import {
  FIGURES,
  type Figures,
  type Kept,
  type KeptCost,
  type KeptIncident,
  NOTHING,
  type Reported,
} from "../../core/report/report.ts";
import { hourOf } from "../../core/time/duration.ts";
import { readBeside } from "./quiet-file.ts";
import { count, number, readRows, type Row, text, whole } from "../../core/exchange/rows.ts";
import { newestVersion, versionOf } from "./schema.ts";
import { evidenceOf, failedMinutes, incidentOf } from "./tables.ts";
import { StateFileError, troubleOf } from "./trouble.ts";

const NAMED = "upstream IN (SELECT value FROM json_each(:upstreams))";

/** Bad minutes are among the sums that follow these. */
const SUMS: Readonly<Record<keyof Figures, string>> = {
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
  badMinutes: "0",
  hoursWithoutMinutes: "total(watched_minutes IS NULL)",
};

/** A day is one range of the table's key, with the hours of all upstreams in it. Sorted a day at a time, they stay in memory. */
function dayWith(badMinutes: readonly string[]): string {
  const sums = [...FIGURES.map((figure) => SUMS[figure]), ...badMinutes.map((column) => `total(${column})`)];
  return `SELECT ${sums.join(", ")}, upstream FROM hours WHERE bucket >= :from AND bucket < :to AND ${NAMED} GROUP BY upstream`;
}

/** The column of the minutes that are bad as its provider counts. */
function badMinutesOf({ sla }: Reported): string {
  if (sla === undefined) return "0";
  if (sla.badUnit === "all_failed") return "all_failed_minutes";
  return failedMinutes(sla.badUnit === "any_failed" ? 1 : sla.badUnit.failures);
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
/** In memory at the same time. Fewer would be more readings, each of which may have to wait for the daemon. */
const INCIDENTS_OF_AT_ONCE = 10;

/** Reads a state file beside the daemon that writes it. By upstream. */
export function keptIn(
  path: string,
  upstreams: readonly Reported[],
  { fromMs, days, months }: Period,
): ReadonlyMap<string, Kept> {
  const names = upstreams.map(({ name }) => name);
  const named = { upstreams: JSON.stringify(names) };
  const badColumnOf = new Map(upstreams.map((upstream) => [upstream.name, badMinutesOf(upstream)]));
  const badColumns = [...new Set(badColumnOf.values())];
  const sql = dayWith(badColumns);
  const daysOf = new Map(names.map((name): [string, Figures[]] => [name, []]));
  for (let first = 0; first < days.length; first += DAYS_AT_ONCE) {
    const some = days.slice(first, first + DAYS_AT_ONCE);
    const read = (database: DatabaseSync): readonly (readonly unknown[])[] => {
      const statement = database.prepare(sql);
      // A row with a name for each sum takes four times the memory.
      statement.setReturnArrays(true);
      return some.map(({ fromMs: from, toMs: to }) =>
        statement.all({ ...named, from: hourOf(from), to: hourOf(to) }),
      );
    };
    for (const [place, rows] of readVersion(path, read).entries()) {
      for (const row of rows) {
        const sums: readonly unknown[] = isList(row) ? row : [];
        const upstream = String(sums.at(-1));
        const badPlace = FIGURES.length + badColumns.indexOf(badColumnOf.get(upstream) ?? "");
        const [figures, ofDays] = [figuresIn(sums, badPlace), daysOf.get(upstream)];
        if (figures && ofDays) ofDays[first + place] = figures;
      }
    }
  }
  const costs = readVersion(path, (database) => {
    const cost = database.prepare(COSTS);
    return months.flatMap(({ name, fromMs: from, toMs: to }) =>
      cost.all({ ...named, month: name, from: hourOf(from), to: hourOf(to) }),
    );
  });
  const costsOf = Map.groupBy(readRows(costs, costOf), ({ upstream }) => upstream);
  let inMemory: ReadonlyMap<string, readonly KeptIncident[]> = new Map();
  const incidentsOf = (name: string): readonly KeptIncident[] => {
    if (!inMemory.has(name)) {
      const some = names.slice(names.indexOf(name)).slice(0, INCIDENTS_OF_AT_ONCE);
      const asked = { upstreams: JSON.stringify(some), from: fromMs };
      const rows = readVersion(path, (database) => database.prepare(INCIDENTS).all(asked));
      const found = Map.groupBy(readRows(rows, keptIncidentOf), ({ upstream }) => upstream);
      inMemory = new Map(some.map((each) => [each, found.get(each) ?? []]));
    }
    return inMemory.get(name) ?? [];
  };
  return new Map(
    Array.from(daysOf, ([name, ofDays]) => [
      name,
      { days: ofDays, costs: costsOf.get(name) ?? [], incidents: () => incidentsOf(name) },
    ]),
  );
}

/** Beside the daemon, a file of this version. */
function readVersion<Read>(path: string, read: (database: DatabaseSync) => Read): Read {
  try {
    return readBeside(path, (database) => {
      requireVersion(versionOf(database));
      return read(database);
    });
  } catch (error) {
    throw new Error(`the state file "${path}" cannot be read: it ${troubleOf(error).says}`, { cause: error });
  }
}

function requireVersion(version: number): void {
  if (version === newestVersion()) return;
  const whose =
    version > newestVersion()
      ? "a newer pacewatch"
      : "an earlier pacewatch: start this one once, which takes its steps";
  throw new StateFileError("foreign", `was written by ${whose}`);
}

/** Undefined where one of them is not what we would write. */
function figuresIn(sums: readonly unknown[], badPlace: number): Figures | undefined {
  const figures: Record<keyof Figures, number> = { ...NOTHING };
  FIGURES.forEach((figure, place) => {
    figures[figure] = Number(sums[figure === "badMinutes" ? badPlace : place]);
  });
  return FIGURES.every((figure) => figures[figure] >= 0) ? figures : undefined;
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
