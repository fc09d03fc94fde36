import { windowMsInText } from "./field-name.ts";
import { plainNumberOf } from "../time/time-in.ts";

/** Splits a header value and trims its parts. Quoted text is not split. */
export function splitOutsideQuotes(text: string, separator: "," | ";"): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === "\\" && isQuoted) at++;
    else if (char === '"') isQuoted = !isQuoted;
    else if (char === separator && !isQuoted) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  parts.push(text.slice(from).trim());
  return parts;
}

/** Undefined if one part cannot be read. */
export function readAll<Part, Read>(
  parts: readonly Part[],
  read: (part: Part) => Read | undefined,
): readonly Read[] | undefined {
  const all: Read[] = [];
  for (const part of parts) {
    const value = read(part);
    if (value === undefined) return undefined;
    all.push(value);
  }
  return all;
}

/** One number of a list, with what is written beside it. */
export type Amount = {
  readonly amount: number;
  readonly perMs: number | undefined;
  /** Where both are written as one: `32/40`. */
  readonly used?: number;
  readonly resource?: string;
};

function windowMsOf(parameters: readonly string[]): number | "none" | undefined {
  for (const parameter of parameters) {
    const [key, value] = parameter.split("=", 2);
    if (key !== "w" && key !== "window") continue;
    const seconds = plainNumberOf(value ?? "");
    return seconds === undefined || seconds <= 0 ? undefined : seconds * 1000;
  }
  return "none";
}

const USED_OF_LIMIT = /^(?:[\w-]{1,60}=)?(\d{1,15})\/(\d{1,15})(?:\([^()]{0,100}\))?$/;
const LIMIT_PER_SECONDS = /^(\d{1,15}):(\d{1,15})$/;
const NAMED_COUNT = /^([A-Za-z][\w./-]{0,80});(\d{1,15})$/;

/** `token:XYZ 1/2000 reset=1234s` is read as far as its numbers go. */
const NAMED_USED_OF_LIMIT = /^[\w:-]{1,80} (\d{1,15})\/(\d{1,15})(?: reset=\w{1,20})?$/;

/** `100`, `100;w=60`, `20:1`, `32/40`, `api-usage=32/40`, `Compute/Get30Min;159`. */
function amountOf(text: string): Amount | undefined {
  const plain = plainNumberOf(text);
  if (plain !== undefined) return { amount: plain, perMs: undefined };
  const [, used, limit] = USED_OF_LIMIT.exec(text) ?? NAMED_USED_OF_LIMIT.exec(text) ?? [];
  if (used !== undefined) return { amount: Number(limit), perMs: undefined, used: Number(used) };
  const [, requests, seconds] = LIMIT_PER_SECONDS.exec(text) ?? [];
  if (requests !== undefined && Number(seconds) > 0) {
    return { amount: Number(requests), perMs: Number(seconds) * 1000 };
  }
  const [, resource, count] = NAMED_COUNT.exec(text) ?? [];
  if (resource !== undefined) return { amount: Number(count), perMs: windowMsInText(resource), resource };
  const [number, ...parameters] = splitOutsideQuotes(text, ";");
  const amount = plainNumberOf(number ?? "");
  const window = windowMsOf(parameters);
  if (amount === undefined || window === undefined) return undefined;
  return { amount, perMs: window === "none" ? undefined : window };
}

/** One number, or a list of them: `100, 100;w=60, 5000;w=3600;comment="daytime"`, `300/3000/12000`. */
export function amountsOf(text: string): readonly Amount[] | undefined {
  return readAll(membersOf(text), amountOf);
}

const NUMBERS_WITH_SLASHES = /^\d{1,15}(?:\/\d{1,15}){2,9}$/;
const NAMED_NUMBERS = /^(?:name=[\w-]{1,60},\d{1,15};? ?){1,9}$/;

/** The members of a list. Two numbers with a slash are one member: what is used, and the limit. */
export function membersOf(text: string): readonly string[] {
  if (NUMBERS_WITH_SLASHES.test(text)) return text.split("/");
  if (NAMED_NUMBERS.test(text)) return text.match(/(?<=,)\d+/g) ?? [];
  return splitOutsideQuotes(text, ",");
}
