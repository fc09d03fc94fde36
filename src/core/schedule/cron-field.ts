/** One field of a cron expression: numbers, lists, ranges and steps, and nothing else. */

export type FieldName = "second" | "minute" | "hour" | "day-of-month" | "month" | "day-of-week";

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

const TERM = /^(?:(?<star>\*)|(?<first>\d{1,3})(?:-(?<last>\d{1,3}))?)(?:\/(?<step>\d{1,3}))?$/;

export function parseCronField(name: FieldName, text: string): CronField {
  const values = new Set<number>();
  for (const term of text.split(",")) {
    const expanded = expandTerm(name, term);
    if (typeof expanded === "string") {
      return { kind: "refused", message: `its ${name} field "${text}" must be ${expanded}` };
    }
    for (const value of expanded) values.add(name === "day-of-week" ? value % 7 : value);
  }
  return { kind: "field", values: [...values].sort((a, b) => a - b) };
}

/** The values of one term, or what the field must be. */
function expandTerm(name: FieldName, term: string): readonly number[] | string {
  const { min, max, starMax } = BOUNDS[name];
  const groups = TERM.exec(term)?.groups;
  if (groups === undefined) return `numbers from ${min} to ${max}, lists, ranges, steps or *`;
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
