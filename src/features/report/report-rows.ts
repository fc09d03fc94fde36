import type { DatabaseSync } from "node:sqlite";
import { codeOf } from "../../kernel/text/escape.ts";
import { isList } from "../../kernel/text/json.ts";
import type { Period } from "./period.ts";
import {
  FIGURES,
  type Figures,
  type Kept,
  type KeptCost,
  type KeptIncident,
  NOTHING,
  type Reported,
} from "./report.ts";
import { DAY_MS, hourOf } from "../../kernel/time/duration.ts";
import { readBeside } from "../state/quiet-file.ts";
import { count, number, readRows, type Row, text, whole } from "../../kernel/text/rows.ts";
import { newestVersion, versionOf } from "../state/schema.ts";
import { closedWhere, DAY_SUMS, evidenceOf, failedMinutes, incidentOf } from "../state/tables.ts";
import { StateFileError, troubleOf } from "../state/trouble.ts";

/** The minutes that are bad are another column for each way in which providers count. */
const COLUMNS: Readonly<Record<Exclude<keyof Figures, "badMinutes">, string>> = {
  polls: "polls",
  ok: "ok",
  failed: "failed",
  throttled: "throttled",
  rejected: "rejected",
  offline: "offline",
  withinObjective: "within_objective",
  okMs: "ok_duration_ms",
  slowestMs: "slowest_ok_ms",
  watchedMs: "watched_ms",
  failedMs: "failed_ms",
  watchedMinutes: "watched_minutes",
};
/** In place of a column, where no provider counts. */
const NONE = "0";

function columnsWith(badMinutes: string): readonly string[] {
  return FIGURES.map((figure) => (figure === "badMinutes" ? badMinutes : COLUMNS[figure]));
}

function daysWith(badMinutes: string): string {
  return `SELECT day, ${columnsWith(badMinutes).join(", ")} FROM days WHERE upstream = ? AND day BETWEEN ? AND ?`;
}

/** Each hour of an upstream's day is looked up by its key: to sort the hours of all upstreams takes longer. */
function hoursWith(badMinutes: string, mostHours: number): string {
  const sums = columnsWith(badMinutes).map((column) => DAY_SUMS[column] ?? column);
  const hours = Array.from({ length: mostHours }, (_, hour) => `(${hour})`);
  return `SELECT ${sums.join(", ")} FROM (VALUES ${hours.join(", ")}) CROSS JOIN hours
    WHERE bucket = ?1 + column1 AND bucket < ?2 AND upstream = ?3`;
}

/** The column of the minutes that are bad as its provider counts. */
function badMinutesOf({ sla }: Reported): string {
  if (sla === undefined) return NONE;
  if (sla.badUnit === "all_failed") return "all_failed_minutes";
  return failedMinutes(sla.badUnit === "any_failed" ? 1 : sla.badUnit.failures);
}

/** Also of the upstreams whose names lie between those of the report: to look for each name takes longer. */
const COSTS = `SELECT upstream, :month AS month, name AS currency, total(polls) AS polls, total(units) AS units
  FROM tally_hours WHERE bucket >= :from AND bucket < :to AND upstream BETWEEN :first AND :last GROUP BY upstream, name`;

const HAS_LATER = `EXISTS (SELECT 1 FROM incidents AS later
  WHERE later.upstream = incidents.upstream AND later.started_at_ms > incidents.started_at_ms)`;
const INCIDENTS = `SELECT *, ${closedWhere(HAS_LATER)} FROM incidents WHERE upstream IN (SELECT value FROM json_each(:upstreams))
  AND coalesce(ended_at_ms, updated_at_ms) >= :from ORDER BY started_at_ms`;

/** They are read in a few milliseconds, so that a daemon that writes each half second leaves time enough. */
const DAYS_AT_ONCE = 8;
const UPSTREAMS_AT_ONCE = 2;
/** In memory at the same time. Fewer would be more readings, each of which may have to wait for the daemon. */
const INCIDENTS_OF_AT_ONCE = 10;

/** Reads a state file beside the daemon that writes it. By upstream. */
export function keptIn(
  path: string,
  upstreams: readonly Reported[],
  { fromMs, days, months }: Period,
): ReadonlyMap<string, Kept> {
  const names = upstreams.map(({ name }) => name);
  // Whose keys are neighbours is looked up one after the other: their pages are in memory then.
  const sorted = upstreams.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const kept = sorted.map((upstream) => {
    const figures: (Figures | undefined)[] = [];
    return { name: upstream.name, badMinutes: badMinutesOf(upstream), figures };
  });
  // Which of the days are days in UTC too, and so have a row, by its number.
  const places = new Map(
    days.flatMap(({ fromMs: from, toMs: to }, place) =>
      from % DAY_MS === 0 && to - from === DAY_MS ? [[from / DAY_MS, place] as const] : [],
    ),
  );
  const between = [Math.min(...places.keys()), Math.max(...places.keys())] as const;
  for (let first = 0; places.size > 0 && first < kept.length; first += UPSTREAMS_AT_ONCE) {
    const some = kept.slice(first, first + UPSTREAMS_AT_ONCE);
    const read = (database: DatabaseSync): readonly (readonly unknown[])[] =>
      some.map(({ name, badMinutes }) => {
        const statement = database.prepare(daysWith(badMinutes));
        // A row with a name for each sum takes four times the memory.
        statement.setReturnArrays(true);
        return statement.all(name, ...between);
      });
    for (const [turn, rows] of readVersion(path, read).entries()) {
      for (const row of rows) {
        const [day, ...sums] = isList(row) ? row : [];
        const [place, upstream] = [places.get(Number(day)), some[turn]];
        if (place !== undefined && upstream !== undefined) upstream.figures[place] = figuresIn(sums);
      }
    }
  }
  // Other days, and what changed since, are added up.
  const longest = Math.max(...days.map(({ fromMs: from, toMs: to }) => hourOf(to) - hourOf(from)));
  for (let first = 0; first < days.length; first += DAYS_AT_ONCE) {
    const some = days.slice(first, first + DAYS_AT_ONCE);
    const read = (database: DatabaseSync): readonly (() => void)[] =>
      [...Map.groupBy(kept, ({ badMinutes }) => badMinutes)].flatMap(([badColumn, alike]) => {
        const statement = database.prepare(hoursWith(badColumn, longest));
        statement.setReturnArrays(true);
        return some.flatMap(({ fromMs: from, toMs: to }, turn) =>
          alike.flatMap(({ name, figures }) => {
            const place = first + turn;
            if (figures[place] !== undefined) return [];
            const sums = figuresIn(statement.get(hourOf(from), hourOf(to), name));
            return () => void (figures[place] = sums);
          }),
        );
      });
    // Where a write came in between, it was read again, and what was read before counts no more.
    for (const keep of readVersion(path, read)) keep();
  }
  const costs = readVersion(path, (database) => {
    const cost = database.prepare(COSTS);
    const between = { first: sorted.at(0)?.name ?? "", last: sorted.at(-1)?.name ?? "" };
    return months.flatMap(({ name, fromMs: from, toMs: to }) =>
      cost.all({ ...between, month: name, from: hourOf(from), to: hourOf(to) }),
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
    kept.map(({ name, figures }) => [
      name,
      { days: figures, costs: costsOf.get(name) ?? [], incidents: () => incidentsOf(name) },
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
    const why = codeOf(error) === "ENOENT" ? "there is no such file" : `it ${troubleOf(error).says}`;
    throw new Error(`the state file "${path}" cannot be read: ${why}`, { cause: error });
  }
}

function requireVersion(version: number): void {
  if (version === newestVersion()) return;
  const says = `is of version ${version}, and this pacewatch reads version ${newestVersion()}`;
  throw new StateFileError("foreign", says);
}

/** Undefined where one of them is not what we would write. */
function figuresIn(sums: unknown): Figures | undefined {
  const figures = { ...NOTHING };
  FIGURES.forEach((figure, place) => {
    figures[figure] = Number(isList(sums) ? sums[place] : undefined);
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
