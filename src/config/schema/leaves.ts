/** The single values of a config. The message of each one's issue is a phrase that says what the value must be. */

import { z } from "zod";
import { UNITS_MS, formatDuration, parseDuration } from "../../core/time/duration.ts";
import { amountsPattern } from "./patterns.ts";

// zod would write and compile code for each section, which a config that is read once never pays back.
z.config({ jitless: true });

export const NAME_PATTERN: RegExp = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const NAME_PHRASE = "a name of at most 64 letters, digits, dots, dashes and underscores";

/** A mapping with these keys and no others. For an unknown key, the message lists those that are allowed. */
export function section<Shape extends z.core.$ZodShape>(
  shape: Shape,
  phrase = "a mapping",
): z.ZodObject<Shape, z.core.$strict> {
  return z.strictObject(shape, {
    error: (issue) => (issue.code === "unrecognized_keys" ? Object.keys(shape).join(", ") : phrase),
  });
}

/** Text for a parser of ours, which returns undefined for a text that is not valid. */
export function reading<Value>(
  pattern: RegExp,
  phrase: string,
  parse: (text: string) => Value | undefined,
): z.ZodType<Value, string> {
  return z
    .string({ error: phrase })
    .regex(pattern, { error: phrase, abort: true })
    .transform((text, context) => {
      const value = parse(text);
      if (value !== undefined) return value;
      context.addIssue({ code: "custom", message: phrase });
      return z.NEVER;
    });
}

export function duration(minMs: number, maxMs: number, example: string): z.ZodType<number, string> {
  const range = `from ${formatDuration(minMs)} to ${formatDuration(maxMs)}`;
  const pattern = amountsPattern(UNITS_MS, minMs, maxMs);
  return reading(pattern, `a duration ${range}, such as ${example}`, parseDuration);
}

/** As a ratio. `zero` and `hundred` say whether the bounds themselves are allowed. */
export function percentage(
  range: { readonly zero: boolean; readonly hundred: boolean },
  example: string,
): z.ZodType<number, string> {
  const from = range.zero ? "from 0%" : "above 0%";
  const to = range.hundred ? "up to 100%" : "below 100%";
  const pattern = new RegExp(
    `^${range.zero ? "" : "(?!0+(?:\\.0+)?%)"}(?:0?\\d{1,2}(?:\\.\\d{1,6})?${range.hundred ? "|100(?:\\.0{1,6})?" : ""})%$`,
  );
  return reading(pattern, `a percentage ${from} and ${to}, such as ${example}`, parsePercentage);
}

export function byteSize(minBytes: number, maxBytes: number, example: string): z.ZodType<number, string> {
  const range = `from ${formatByteSize(minBytes)} to ${formatByteSize(maxBytes)}`;
  return reading(
    amountsPattern(UNITS, minBytes, maxBytes),
    `a size ${range}, such as ${example}`,
    parseByteSize,
  );
}

export function wholeNumber(min: number, max: number): z.ZodType<number, number> {
  const error = `a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

export function flag(): z.ZodType<boolean, boolean> {
  return z.boolean({ error: "true or false" });
}

/** Text without control characters. */
export function text(phrase: string, maxLength = 1024): z.ZodType<string, string> {
  return z
    .string({ error: phrase })
    .min(1, { error: phrase, abort: true })
    .max(maxLength, { error: `${phrase} of at most ${maxLength} characters`, abort: true })
    .refine((value) => !/\p{Cc}/u.test(value), { error: `${phrase} without control characters` });
}

export function matching(pattern: RegExp, phrase: string): z.ZodType<string, string> {
  return z.string({ error: phrase }).regex(pattern, { error: phrase });
}

/** Text of which `fault` says what it must be; undefined for a valid one. */
export function checked(
  fault: (text: string) => string | undefined,
  phrase: string,
): z.ZodType<string, string> {
  return z.string({ error: phrase }).superRefine((value, context) => {
    const message = fault(value);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });
}

export function filePath(): z.ZodType<string, string> {
  return text("a file's path", 4096);
}

export function oneOf<const Values extends readonly string[]>(
  values: Values,
): z.ZodType<Values[number], Values[number]> {
  return z.enum(values, { error: `one of ${values.join(", ")}` });
}

const UNITS = { B: 1, KiB: 1024, MiB: 1024 ** 2 } as const;

const BYTE_SIZE_PATTERN: RegExp = /^(\d{1,9})(B|KiB|MiB)$/;

/** `512B`, `64KiB`, `1MiB`. */
function parseByteSize(text: string): number | undefined {
  const match = BYTE_SIZE_PATTERN.exec(text);
  const amount = match?.[1];
  const unit = match?.[2];
  if (amount === undefined || !isUnit(unit)) return undefined;
  return Number(amount) * UNITS[unit];
}

export function formatByteSize(bytes: number): string {
  for (const unit of ["MiB", "KiB"] as const) {
    if (bytes >= UNITS[unit] && bytes % UNITS[unit] === 0) return `${bytes / UNITS[unit]}${unit}`;
  }
  return `${bytes}B`;
}

function isUnit(unit: string | undefined): unit is keyof typeof UNITS {
  return unit !== undefined && Object.hasOwn(UNITS, unit);
}

const PERCENTAGE_PATTERN: RegExp = /^(\d{1,3}(?:\.\d{1,6})?)%$/;

/** `20%` as 0.2. */
function parsePercentage(text: string): number | undefined {
  const amount = PERCENTAGE_PATTERN.exec(text)?.[1];
  return amount === undefined ? undefined : Number(amount) / 100;
}

export function formatPercentage(ratio: number): string {
  return `${Number((ratio * 100).toFixed(6))}%`;
}
