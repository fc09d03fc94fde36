import { existsSync } from "node:fs";
import { NOBODY_KNOWS } from "../../core/budget/quota.ts";
import { ANY_BUDGET } from "../../core/budget/quotas.ts";
import { hourOf } from "../../core/time/duration.ts";
import { allUsed, Completeness } from "./completeness.ts";
import { isEmpty, makeWritable, openDatabase } from "./database.ts";
import { readQuotas } from "./reading.ts";
import { quotaRow } from "./tables.ts";
import { troubleOf } from "./trouble.ts";
import { StateWriter } from "./writing.ts";

type Used = { readonly budget: string; readonly used: number; readonly nowMs: number };

/** Replaces all that the file has counted of a budget. Returns why it cannot; undefined if it is done. */
export function setUsed(path: string, { budget, used, nowMs }: Used): string | undefined {
  if (!existsSync(path)) return `there is no state file "${path}"`;
  try {
    using database = openDatabase(path);
    // A process that was killed as it began the file leaves an empty one: nobody knows what was used before.
    const isUnknown = isEmpty(database);
    makeWritable(database);
    const completeness = new Completeness(path);
    const read = readQuotas(database);
    const counted = isUnknown || completeness.isComplete === false ? allUsed(read, nowMs) : read;
    // What was lost of all budgets counts for each that has no count of its own in that hour.
    const lost = counted.filter((row) => row.budget === ANY_BUDGET && row.requests === NOBODY_KNOWS);
    const gone = [...counted.filter((row) => row.budget === budget), ...lost];
    const none = gone.map(({ hour }) => ({ budget, hour, requests: 0, unconfirmed: 0 }));
    const now = { budget, hour: hourOf(nowMs), requests: used, unconfirmed: 0 };
    new StateWriter(database).write({
      polls: [],
      rows: [...counted, ...none, now].map(quotaRow),
    });
    completeness.tell(true);
    return undefined;
  } catch (error) {
    return `the state file "${path}" ${troubleOf(error).says}: stop pacewatch first`;
  }
}
