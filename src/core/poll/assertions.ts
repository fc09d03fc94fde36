/** Whether an answer says what its operator asserts: the first thing that it does not, in words. */

import type { BodyAssertion, HeaderAssertion, JsonType } from "../config/config.ts";
import { type Headers, headerValue, type WithoutKeys } from "../exchange/exchange.ts";
import { valueAt } from "../exchange/json-pointer.ts";
import { oneLine } from "../text/escape.ts";

const MOST_SHOWN_CHARACTERS = 60;

/** Undefined where all of it holds. */
export function unmetInBody(
  assertions: readonly BodyAssertion[],
  json: unknown,
  withoutKeys: WithoutKeys,
): string | undefined {
  for (const { path, check, isCredit } of assertions) {
    const value = valueAt(json, path);
    const expected = unmetBy(value, check);
    if (expected === undefined) continue;
    return `${path === "" ? "the body" : `\`${path}\``} is ${isCredit ? kindOf(value) : shown(value, withoutKeys)}, expected ${expected}`;
  }
  return undefined;
}

/** The value of a header may be a session or a key, so it is never shown. */
export function unmetInHeaders(assertions: readonly HeaderAssertion[], headers: Headers): string | undefined {
  for (const { name, check } of assertions) {
    const value = headerValue(headers, name);
    const expected = unmetByHeader(value, check);
    if (expected === undefined) continue;
    const found = value === undefined ? "missing" : `a text of ${charactersOf(value)}`;
    return `the header \`${name}\` is ${found}, expected ${expected}`;
  }
  return undefined;
}

/** What was expected of a value that is not it. */
function unmetBy(value: unknown, check: BodyAssertion["check"]): string | undefined {
  switch (check.kind) {
    case "exists":
      return (value !== undefined) === check.exists ? undefined : existence(check.exists);
    case "one_of":
      return check.values.some((each) => each === value) ? undefined : alternatives(check.values);
    case "type":
      return isOfType(value, check.type) ? undefined : TYPE_WORDS[check.type];
    case "range":
      return typeof value === "number" && isWithin(value, check) ? undefined : numberWithin(check);
    case "items":
      return Array.isArray(value) && isWithin(value.length, check) ? undefined : listWithin(check);
    default:
      return check satisfies never;
  }
}

function unmetByHeader(value: string | undefined, check: HeaderAssertion["check"]): string | undefined {
  switch (check.kind) {
    case "exists":
      return (value !== undefined) === check.exists ? undefined : existence(check.exists);
    case "one_of":
      return value !== undefined && check.values.includes(value) ? undefined : alternatives(check.values);
    case "contains":
      return value?.toLowerCase().includes(check.text) === true
        ? undefined
        : `a text that contains ${JSON.stringify(check.text)}`;
    default:
      return check satisfies never;
  }
}

const TYPE_WORDS: Readonly<Record<JsonType, string>> = {
  string: "a text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

function isOfType(value: unknown, type: JsonType): boolean {
  switch (type) {
    case "string":
    case "number":
    case "boolean":
      return typeof value === type;
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "null":
      return value === null;
    default:
      return type satisfies never;
  }
}

type Bounds = { readonly min: number | undefined; readonly max: number | undefined };

function isWithin(number: number, { min, max }: Bounds): boolean {
  return (min === undefined || number >= min) && (max === undefined || number <= max);
}

function numberWithin({ min, max }: Bounds): string {
  if (min === undefined) return `a number of at most ${max}`;
  return max === undefined ? `a number of at least ${min}` : `a number from ${min} to ${max}`;
}

function listWithin({ min, max }: Bounds): string {
  if (min === undefined) return `a list of at most ${itemsOf(max)}`;
  return max === undefined ? `a list of at least ${itemsOf(min)}` : `a list of ${min} to ${itemsOf(max)}`;
}

function itemsOf(count: number | undefined): string {
  return count === 1 ? "1 item" : `${count} items`;
}

function existence(exists: boolean): string {
  return exists ? "something" : "nothing";
}

function alternatives(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(" or ");
}

function shown(value: unknown, withoutKeys: WithoutKeys): string {
  if (value === undefined) return "missing";
  if (Array.isArray(value)) return `a list of ${itemsOf(value.length)}`;
  if (typeof value === "string") {
    // Escaping makes it longer: the rest of a megabyte need not be escaped to be cut.
    const beginning = value.slice(0, 2 * MOST_SHOWN_CHARACTERS);
    return `"${withoutKeys(oneLine(beginning, [], MOST_SHOWN_CHARACTERS))}"`;
  }
  return typeof value === "object" && value !== null ? "an object" : withoutKeys(JSON.stringify(value));
}

/** A number that is a credit may come as a text. */
function kindOf(value: unknown): string {
  if (typeof value === "number") return "a number that is not told";
  if (typeof value === "string") return `a text of ${charactersOf(value)}`;
  return shown(value, String);
}

function charactersOf({ length }: string): string {
  return length === 1 ? "1 character" : `${length} characters`;
}
