import { DatabaseSync } from "node:sqlite";
import { inTransaction, makeWritable } from "../../src/features/state/database.ts";
import { hourOf } from "../../src/kernel/time/duration.ts";

const POLLS = 240;

/**
 * Each hour of the last days, of each of these upstreams: so their rows lie in the file, as the daemon writes them. `failed`
 * of the polls of an hour were not ok.
 */
export function writeHours(
  database: DatabaseSync,
  names: readonly string[],
  { days, nowMs = Date.now(), failed = () => 0 }: PastHours,
): void {
  const hour = database.prepare(
    `INSERT INTO hours (bucket, upstream, polls, ok, failed, throttled, rejected, within_objective, watched_ms, failed_ms,
      ok_duration_ms, slowest_ok_ms, offline, watched_minutes, all_failed_minutes, failed_minutes_1,
      failed_minutes_2, failed_minutes_3, failed_minutes_4, failed_minutes_5)
      VALUES (?, ?, ${POLLS}, ?, ?, 0, 0, ?, 3600000, ?, ?, 987.654321, 0, 60, ?, ?, 0, 0, 0, 0)`,
  );
  inTransaction(database, () => {
    for (let bucket = hourOf(nowMs) - days * 24; bucket <= hourOf(nowMs); bucket += 1) {
      for (const [place, name] of names.entries()) {
        const bad = failed(bucket, place);
        const ok = POLLS - bad;
        hour.run(bucket, name, ok, bad, ok - 1, bad * 15_000, ok * 87.654321, bad / 4, bad / 4);
      }
    }
  });
}

/** As a daemon leaves it that kept its state there for so many days. */
export function writeStateFile(path: string, names: readonly string[], days: number): void {
  using database = new DatabaseSync(path);
  makeWritable(database);
  writeHours(database, names, { days });
}

type PastHours = {
  readonly days: number;
  readonly nowMs?: number;
  readonly failed?: (bucket: number, place: number) => number;
};
