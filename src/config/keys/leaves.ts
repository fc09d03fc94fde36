/** The single values of a config. The message of each one's issue is a phrase that says what the value must be. */

import { z } from "zod";
import {
  UNITS_MS,
  formatAmount,
  formatDuration,
  parseAmount,
  parseDuration,
} from "../../kernel/time/duration.ts";
import { type StreamPart, STREAM_PARTS } from "../../kernel/exchange/exchange.ts";
import type { JsonScalar } from "../../kernel/exchange/json-value.ts";
import { isList, isObject } from "../../kernel/text/json.ts";
import { HEADER_NAME_PATTERN } from "./credential-signs.ts";
import { type Notes, noted, type Rule } from "./notes.ts";
import { URL_PATTERN, amountsPattern } from "./patterns.ts";
import { urlFault } from "./upstream-url.ts";
import { listing } from "../../kernel/text/listing.ts";
import { didYouMean } from "../read/wording.ts";
import { ruled } from "./rules.ts";

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

/** Reads what is written as we have it inside. */
export function decoded<Keys, Inner>(
  written: z.ZodType<Keys>,
  decode: (keys: Keys) => Inner,
): z.ZodType<Inner> {
  const inner: z.ZodType<Inner> = z.custom<Inner>();
  return z.pipe(
    written.transform((keys): unknown => decode(keys)),
    inner,
  );
}

type Camel<Key> = Key extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Key;

type Named<Shape extends z.core.$ZodShape, Names> = {
  readonly [Key in keyof Shape as Key extends keyof Names ? Names[Key] & string : Camel<Key>]: z.output<
    Shape[Key]
  >;
};

/** A section as it is inside: `max_body` is `maxBody`, but for the keys that have other names. `more` is the same in all. */
export function named<
  Shape extends z.core.$ZodShape,
  const Names extends Readonly<Record<string, string>>,
  const More extends object,
>(
  section: z.ZodObject<Shape, z.core.$strict>,
  names: Names,
  more?: More,
): z.ZodType<Named<Shape, Names> & More> {
  const inner: z.ZodType<Named<Shape, Names> & More, object> = z.custom<Named<Shape, Names> & More>();
  const camel = (key: string): string => key.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const pairs = Object.keys(section.shape).map((key): [string, string] => [key, names[key] ?? camel(key)]);
  const renamed = section.transform((keys): object => ({
    ...more,
    ...Object.fromEntries(pairs.map(([key, name]) => [name, Reflect.get(keys, key)])),
  }));
  return z.pipe(renamed, inner);
}

/** Text for a parser of ours, which returns undefined for a text that is not valid. */
export function reading<Value>(
  pattern: RegExp,
  phrase: string,
  parse: (text: string) => Value | undefined,
): z.ZodType<Value, string> {
  const inner: z.ZodType<Value> = z.custom<Value>();
  const parsed = matching(pattern, phrase).transform((text, { issues }): unknown => {
    const value = parse(text);
    if (value === undefined) issues.push({ code: "custom", message: phrase, input: text });
    return value ?? z.NEVER;
  });
  return z.pipe(parsed, inner);
}

export function duration(minMs: number, maxMs: number, example: string): z.ZodType<number, string> {
  const range = `from ${formatDuration(minMs)} to ${formatDuration(maxMs)}`;
  const pattern = amountsPattern(UNITS_MS, minMs, maxMs);
  return reading(pattern, `a duration ${range}, such as ${example}`, parseDuration);
}

/** It is read as a ratio. `zero` and `hundred` say whether the bounds themselves are allowed. */
export function percentage(
  range: { readonly zero: boolean; readonly hundred: boolean },
  example: string,
): z.ZodType<number, string> {
  const from = range.zero ? "from 0%" : "above 0%";
  const to = range.hundred ? "up to 100%" : "below 100%";
  const pattern = new RegExp(
    `^${range.zero ? "" : "(?!0+(?:\\.0+)?%)"}(?:0?\\d{1,2}(?:\\.\\d{1,6})?${range.hundred ? "|100(?:\\.0{1,6})?" : ""})%$`,
  );
  const phrase = `a percentage ${from} and ${to}, such as ${example}`;
  return reading(pattern, phrase, (text) => Number.parseFloat(text) / 100);
}

const SIZES = { B: 1, KiB: 1024, MiB: 1024 ** 2 };

export function byteSize(minBytes: number, maxBytes: number, example: string): z.ZodType<number, string> {
  const format = (bytes: number): string => formatAmount(bytes, SIZES);
  const phrase = `a size from ${format(minBytes)} to ${format(maxBytes)}, such as ${example}`;
  const pattern = amountsPattern(SIZES, minBytes, maxBytes);
  return reading(pattern, phrase, (text) => parseAmount(text, SIZES));
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

/** Text of which `fault` says what it must be; undefined for a valid one. Of that, the JSON Schema knows the pattern. */
export function checked(
  fault: (text: string) => string | undefined,
  phrase: string,
  pattern: string,
): z.ZodType<string, string> {
  const checkedText = z.string({ error: phrase }).superRefine((value, context) => {
    const message = fault(value);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  });
  return checkedText.meta({ pattern });
}

/** Relative to the config; read as an absolute path. */
export function filePath(file: NonNullable<Notes["file"]>): z.ZodType<string, string> {
  return noted(text("a file's path", 4096), { file, example: "unset" });
}

/** Read in lower case, as no case of letters counts there. */
export function lowered(text: z.ZodType<string, string>): z.ZodType<string, string> {
  return text.transform((written) => written.toLowerCase());
}

export function headerName(): z.ZodType<string, string> {
  return noted(matching(HEADER_NAME_PATTERN, "a header's name"), { example: "unset" });
}

export function name(): z.ZodType<string, string> {
  return noted(matching(NAME_PATTERN, NAME_PHRASE), { example: "unset" });
}

/** A JSON pointer (RFC 6901) of at least this many steps. */
export function pointer(phrase: string, { least }: { readonly least: 0 | 1 }): z.ZodType<string, string> {
  const pattern = new RegExp(`^(?:/(?:[^/~]|~[01]){0,64}){${least},16}$`);
  return noted(matching(pattern, phrase), { example: "/unset" });
}

export function httpUrl(): z.ZodType<string, string> {
  const url = checked(urlFault, "an http:// or https:// URL", URL_PATTERN);
  return noted(url, { example: "https://unset.invalid" });
}

/** The words say what it is a list of, such as `host names`. */
export function list<Value, Written>(
  item: z.ZodType<Value, Written>,
  most: number,
  words: string,
  such = "",
): z.ZodArray<z.ZodType<Value, Written>> {
  return z
    .array(item, { error: `a list of ${words}${such}` })
    .max(most, { error: `a list of at most ${most} ${words}` });
}

/** A list with something in it. */
export function filledList<Value, Written>(
  ...given: Parameters<typeof list<Value, Written>>
): z.ZodType<readonly Value[], readonly Written[]> {
  const one = given[2].replace(/(?:(?<=ss)e)?s$/, "");
  return list(...given).min(1, { error: `a list of at least one ${one}` });
}

/** One, or a list of them: it is read as a list. */
export function oneOrMore<Value extends object | string | number>(
  item: z.ZodType<Value>,
  phrase: string,
  ...given: readonly [most: number, words: string, such?: string]
): z.ZodType<readonly Value[]> {
  return decoded(z.union([item, filledList(item, ...given)], { error: phrase }), (written) =>
    isList(written) ? written : [written],
  );
}

export function oneOf<const Values extends readonly string[]>(
  values: Values,
): z.ZodType<Values[number], Values[number]> {
  return z.enum(values, { error: `one of ${values.join(", ")}` });
}

const SCALAR_PHRASE = "a text of at most 256 characters, a number, true or false";
export const scalar: z.ZodType<JsonScalar, JsonScalar> = z.union(
  [z.string().max(256), z.number(), z.boolean()],
  {
    error: SCALAR_PHRASE,
  },
);

export const part: z.ZodType<StreamPart | undefined> = oneOf(STREAM_PARTS)
  .optional()
  .describe(
    "Where in a stream to look. last: in its last event, which is the default. first: in the first event that counts. joined: in the texts of all events that count, one after the other.",
  );

const isThere: Rule = {
  check: (name, refuse, { budgets }) => {
    if (typeof name !== "string" || !isObject(budgets) || Object.hasOwn(budgets, name)) return;
    const known = Object.keys(budgets);
    const allowed = known.length === 0 ? "there are no budgets" : `allowed are ${listing(known)}`;
    const hint = `${didYouMean(name, known)}${allowed}`;
    refuse([], (received) => `must name a budget, received ${received}: ${hint}`);
  },
};

export const budgetName: z.ZodType<string, string> = noted(
  ruled(matching(NAME_PATTERN, "the name of a budget"), isThere),
  { isNeeded: true },
);
