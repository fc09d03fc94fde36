/** One field of a cron expression: numbers, names of months and days, lists, ranges and steps. */

/** In their order; the first may be left out. */
export const FIELD_NAMES = ["second", "minute", "hour", "day-of-month", "month", "day-of-week"] as const;
type FieldName = (typeof FIELD_NAMES)[number];

export type CronField =
  | { readonly kind: "field"; readonly values: readonly number[] }
  | { readonly kind: "refused"; readonly message: string };

type Bounds = { readonly min: number; readonly max: number; readonly starMax: number };

/** Sunday may be written as 0 or as 7; a star means 0 to 6. */
const BOUNDS: Readonly<Record<FieldName, Bounds>> = {
  second: { min: 0, max: 59, starMax: 59 },
  minute: { min: 0, max: 59, starMax: 59 },
  hour: { min: 0, max: 23, starMax: 23 },
  "day-of-month": { min: 1, max: 31, starMax: 31 },
  month: { min: 1, max: 12, starMax: 12 },
  "day-of-week": { min: 0, max: 7, starMax: 6 },
};

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const NAMED: Partial<Record<FieldName, string>> = { month: " JAN to DEC,", "day-of-week": " SUN to SAT," };

const TERM = /^(?:(?<star>\*)|(?<first>\d{1,3})(?:-(?<last>\d{1,3}))?)(?:\/(?<step>\d{1,3}))?$/;

export function parseCronField(name: FieldName, text: string): CronField {
  const values = new Set<number>();
  for (const term of text.split(",")) {
    const expanded = expandTerm(name, withNumbers(name, term));
    if (typeof expanded === "string") {
      return { kind: "refused", message: `its ${name} field "${text}" must be ${expanded}` };
    }
    for (const value of expanded) values.add(name === "day-of-week" ? value % 7 : value);
  }
  return { kind: "field", values: [...values].sort((a, b) => a - b) };
}

/** Sunday is 0 where a range begins, and 7 where one ends. */
function withNumbers(name: FieldName, term: string): string {
  return term.toUpperCase().replaceAll(/-?[A-Z]{3}/g, (found) => {
    const [dash, word] = found.startsWith("-") ? ["-", found.slice(1)] : ["", found];
    if (name === "month" && MONTHS.includes(word)) return `${dash}${MONTHS.indexOf(word) + 1}`;
    if (name !== "day-of-week" || !WEEKDAYS.includes(word)) return found;
    return dash === "-" && word === "SUN" ? "-7" : `${dash}${WEEKDAYS.indexOf(word)}`;
  });
}

/** The values of one term, or what the field must be. */
function expandTerm(name: FieldName, term: string): readonly number[] | string {
  const { min, max, starMax } = BOUNDS[name];
  const groups = TERM.exec(term)?.groups;
  if (groups === undefined)
    return `numbers from ${min} to ${max},${NAMED[name] ?? ""} lists, ranges, steps or *`;
  const isRange = groups["star"] !== undefined || groups["last"] !== undefined;
  const first = groups["star"] === undefined ? Number(groups["first"]) : min;
  const last = groups["star"] === undefined ? Number(groups["last"] ?? groups["first"]) : starMax;
  const step = Number(groups["step"] ?? 1);
  if (first < min || last > max) return `within ${min} to ${max}`;
  if (first > last) return "ranges that run upwards";
  if (groups["step"] !== undefined && !isRange)
    return `steps of a range, such as ${first}-${starMax}/${step}`;
  if (step < 1 || step > starMax - min + 1) return `steps from 1 to ${starMax - min + 1}`;
  const values: number[] = [];
  for (let value = first; value <= last; value += step) values.push(value);
  return values;
}
