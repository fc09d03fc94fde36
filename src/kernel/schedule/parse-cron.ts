import { zoneSpans } from "../time/time-zone.ts";
import { CronDays } from "./cron-days.ts";
import { Cron } from "./cron.ts";
import { CronExpression } from "./cron-expression.ts";
import { FIELD_NAMES, parseCronField } from "./cron-field.ts";

const HOURS_PER_DAY = 24;

export type CronReading =
  | { readonly kind: "cron"; readonly cron: Cron }
  | { readonly kind: "refused"; readonly message: string };

/** As people write them who have met other crons. */
const SHORTHANDS: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);

/** Five or six fields, in UTC or in a time zone; five are given second 0. */
export function parseCron(text: string, timeZone?: string): CronReading {
  const written = text.trim();
  if (/^(?:CRON_)?TZ=/i.test(written)) {
    return { kind: "refused", message: "it must have no time zone in it: set time_zone beside it" };
  }
  const shorthand = SHORTHANDS.get(written.toLowerCase());
  if (shorthand === undefined && /^@|^\w+$/.test(written)) {
    const known = [...SHORTHANDS.keys()].join(", ");
    return { kind: "refused", message: `it must have 5 or 6 fields, or be one of ${known}` };
  }
  const given = (shorthand ?? written).split(/\s+/);
  if (given.length !== 5 && given.length !== 6) {
    return { kind: "refused", message: `it must have 5 or 6 fields, not ${given.length}` };
  }
  const fields = given.length === 5 ? ["0", ...given] : given;
  const values: (readonly number[])[] = [];
  for (const [index, name] of FIELD_NAMES.entries()) {
    const field = parseCronField(name, fields[index] ?? "");
    if (field.kind === "refused") return field;
    values.push(field.values);
  }
  const [seconds = [], minutes = [], hours = [], daysOfMonth = [], months = [], weekdays = []] = values;
  const days = new CronDays(daysOfMonth, months, weekdays);
  if (days.from(0) === undefined) {
    return { kind: "refused", message: "no date ever matches its day-of-month and month" };
  }
  const ofHour = minutes.flatMap((minute) => seconds.map((second) => minute * 60 + second));
  const times = Uint32Array.from(hours.flatMap((hour) => ofHour.map((time) => hour * 3600 + time)));
  const local = new CronExpression(fields.join(" "), days, times, hours.length === HOURS_PER_DAY);
  if (timeZone === undefined) return { kind: "cron", cron: new Cron(local) };
  const spans = zoneSpans(timeZone);
  return spans === undefined
    ? { kind: "refused", message: `there is no time zone "${timeZone}"` }
    : { kind: "cron", cron: new Cron(local, { name: timeZone, spans }) };
}
