/** The kinds of JSON values, and words for what is expected of one. */

import { isList, isObject } from "../text/json.ts";

export const JSON_TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"] as const;
export type JsonScalar = string | number | boolean;
export type JsonType = (typeof JSON_TYPES)[number];

type TypeRow = { readonly words: string; readonly fits: (value: unknown) => boolean };

const TYPES: Readonly<Record<JsonType, TypeRow>> = {
  string: { words: "a text", fits: (value) => typeof value === "string" },
  number: { words: "a number", fits: (value) => typeof value === "number" },
  integer: { words: "a whole number", fits: Number.isInteger },
  boolean: { words: "true or false", fits: (value) => typeof value === "boolean" },
  array: { words: "a list", fits: isList },
  object: { words: "an object", fits: isObject },
  null: { words: "null", fits: (value) => value === null },
};

export function isOfType(value: unknown, type: JsonType): boolean {
  return TYPES[type].fits(value);
}

export function typesInWords(types: readonly JsonType[]): string {
  return types.map((type) => TYPES[type].words).join(" or ");
}

export function existenceInWords(exists: boolean): string {
  return exists ? "something" : "nothing";
}

export function valuesInWords(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(" or ");
}

export type Bounds = { readonly min: number | undefined; readonly max: number | undefined };

export function isWithin(number: number, { min, max }: Bounds): boolean {
  return (min === undefined || number >= min) && (max === undefined || number <= max);
}

export function numberInWords({ min, max }: Bounds): string {
  if (min === undefined) return `a number of at most ${max}`;
  return max === undefined ? `a number of at least ${min}` : `a number from ${min} to ${max}`;
}

/** `a list of at least 3 items`. */
export function sizeInWords(whole: string, part: string, { min, max }: Bounds): string {
  if (min === undefined) return `${whole} of at most ${counted(max, part)}`;
  if (max === undefined) return `${whole} of at least ${counted(min, part)}`;
  return `${whole} of ${min} to ${counted(max, part)}`;
}

export function counted(count: number | undefined, noun: string): string {
  if (count === 1) return `1 ${noun}`;
  return `${count} ${noun.endsWith("y") ? `${noun.slice(0, -1)}ie` : noun}s`;
}

/** Many providers send money as text: `"12.34"`. Neither signs of a currency nor exponents. */
const PLAIN_DECIMAL = /^-?\d{1,16}(?:\.\d{1,32})?$/;

/** Beyond that, a number in JSON is no longer exact. */
const MOST = Number.MAX_SAFE_INTEGER;

export function numberIn(found: unknown): number | undefined {
  const value = typeof found === "string" && PLAIN_DECIMAL.test(found) ? Number(found) : found;
  return typeof value === "number" && Math.abs(value) <= MOST ? value : undefined;
}
