import { existsSync } from "node:fs";
import { allUsed, type QuotaKey } from "../quota/quota.ts";
import { hourOf } from "../../kernel/time/duration.ts";
import { Completeness } from "./completeness.ts";
import { isEmpty, makeWritable, openDatabase } from "./database.ts";
import { readQuotas } from "./reading.ts";
import { quotaRow, rowsOf } from "./tables.ts";
import { troubleOf } from "./trouble.ts";
import { StateWriter } from "./writing.ts";

type Used = { readonly quota: QuotaKey; readonly used: number; readonly nowMs: number };

/** Replaces all that the file has counted of a quota. Returns why it cannot; undefined if it is done. */
export function setUsed(path: string, { quota, used, nowMs }: Used): string | undefined {
  if (!existsSync(path)) return `there is no state file "${path}"`;
  try {
    using database = openDatabase(path);
    // A process that was killed as it began the file leaves an empty one: nobody knows what was used before.
    const isUnknown = isEmpty(database);
    makeWritable(database);
    const completeness = new Completeness(path);
    const read = readQuotas(database);
    const counted = isUnknown || completeness.isComplete === false ? allUsed(read, nowMs) : read;
    const own = counted.rows.filter(({ budget, of }) => budget === quota.budget && of === quota.of);
    // What was lost counts for each quota that has no count of its own in that hour.
    const gone = [...own.map(({ hour }) => hour), ...counted.lostHours];
    const none = gone.map((hour) => ({ ...quota, hour, requests: 0, unconfirmed: 0 }));
    const now = { ...quota, hour: hourOf(nowMs), requests: used, unconfirmed: 0 };
    new StateWriter(database).write({
      polls: [],
      rows: [...rowsOf(counted), ...[...none, now].map(quotaRow)],
    });
    completeness.tell(true);
    return undefined;
  } catch (error) {
    return `the state file "${path}" ${troubleOf(error).says}: stop pacewatch first`;
  }
}
