/** Whether an answer keeps a JSON Schema (draft 2020-12), and what the first part that breaks it should have been. */

import type { OutputUnit, Schema } from "@cfworker/json-schema";
import { isList, isObject } from "../../../kernel/text/json.ts";
import { messageOf } from "../../../kernel/text/escape.ts";
import { alternativesInWords, ruleInWords } from "./words.ts";

/** A JSON Schema that was checked: JSON, in memory that threads share, and the digest of its file. */
export type Contract = { readonly text: Uint8Array<SharedArrayBuffer>; readonly digest: string };

/** Libraries judge this of an answer, and not where polls run: some answers take them very long. */
export interface Checks {
  /** By an expression in the syntax of RE2. */
  matches(expression: string, text: string): boolean;
  /** By a JSON Schema. Undefined where it is kept. */
  brokenBy(contract: Contract, value: unknown): Broken | Unchecked | undefined;
}

/** The first part of a value that breaks a JSON Schema. */
export type Broken = {
  readonly kind: "broken";
  /** The names and positions that lead to it. */
  readonly path: readonly string[];
  /** Whether it is about the name at the end of the path, not about what stands there. */
  readonly isName: boolean;
  /** Undefined where there is nothing. */
  readonly value: unknown;
  /** In words. */
  readonly expected: string;
};

export type Unchecked = { readonly kind: "unchecked"; readonly why: string };

/** For whoever judges answers that need none. */
export const NO_CHECKS: Checks = { matches: unopened, brokenBy: unopened };

function unopened(): never {
  throw new Error("an answer that libraries must check came to where there are none");
}

export const DRAFT = "2020-12";

/** A schema that was read, with its parts by their addresses. */
export type Known = {
  readonly schema: Schema | boolean;
  readonly parts: Record<string, Schema | boolean>;
};

/** Those that were read are kept until they are so many: each reload may bring others. */
const MOST_KEPT = 200;

/** The library is loaded only where a config has a JSON Schema. */
export async function openContracts(): Promise<Pick<Checks, "brokenBy">> {
  const { dereference, validate } = await import("@cfworker/json-schema");
  const kept = new Map<string, Known>();
  const read = ({ text, digest }: Contract): Known => {
    const found = kept.get(digest);
    if (found !== undefined) return found;
    const schema = JSON.parse(Buffer.from(text).toString());
    const known = { schema, parts: dereference(schema) };
    if (kept.size >= MOST_KEPT) kept.clear();
    kept.set(digest, known);
    return known;
  };
  return {
    brokenBy: (contract, value) => {
      const known = read(contract);
      try {
        const { errors } = validate(value, known.schema, DRAFT, known.parts);
        return firstBroken(errors, known, value);
      } catch (error) {
        // It calls itself for each level, and gives all faults of a level as arguments.
        const isTooMuch = error instanceof RangeError;
        const why = isTooMuch ? "it has too many levels, or too many faults" : messageOf(error);
        return { kind: "unchecked", why };
      }
    },
  };
}

/** They are broken by what is inside of them, of which the next error tells. */
const OUTER: ReadonlySet<string> = new Set([
  "$ref",
  "additionalProperties",
  "allOf",
  "dependentSchemas",
  "if",
  "items",
  "patternProperties",
  "prefixItems",
  "properties",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

export function isInner({ keyword }: OutputUnit): boolean {
  return !OUTER.has(keyword);
}

function firstBroken(errors: readonly OutputUnit[], known: Known, judged: unknown): Broken | undefined {
  const at = errors.findIndex(isInner);
  const error = errors[at];
  if (error === undefined) return undefined;
  const path = stepsOf(error.instanceLocation);
  const isName = errors.slice(0, at).some(({ keyword }) => keyword === "propertyNames");
  const value = isName ? path.at(-1) : valueIn(judged, path);
  const missing = missingBy(error, known, value);
  if (missing !== undefined) {
    return { kind: "broken", path: [...path, missing], isName, value: undefined, expected: "something" };
  }
  return { kind: "broken", path, isName, value, expected: expectedBy(error, errors.slice(at + 1), known) };
}

function expectedBy(error: OutputUnit, after: readonly OutputUnit[], known: Known): string {
  const { keyword, keywordLocation, instanceLocation } = error;
  const written = writtenOf(error, known);
  if ((keyword !== "anyOf" && keyword !== "oneOf") || !isList(written)) return ruleInWords(keyword, written);
  // Those that are about this very value can be told, if all of them are.
  const alternatives = written.map((_, index) => {
    const begin = `${keywordLocation}/${index}/`;
    const first = after.find((each) => isInner(each) && each.keywordLocation.startsWith(begin));
    const isTold = first?.instanceLocation === instanceLocation && !MISSING.has(first.keyword);
    return isTold ? ruleInWords(first.keyword, writtenOf(first, known)) : undefined;
  });
  return alternativesInWords(keyword, alternatives);
}

const MISSING: ReadonlySet<string> = new Set(["required", "dependentRequired"]);

/** The first name that must be in an object and is not. */
function missingBy(error: OutputUnit, known: Known, value: unknown): string | undefined {
  if (!MISSING.has(error.keyword) || !isObject(value)) return undefined;
  const written = writtenOf(error, known);
  const lists = isObject(written)
    ? Object.entries(written).flatMap(([name, names]) => (Object.hasOwn(value, name) ? [names] : []))
    : [written];
  return lists
    .flat()
    .filter((name) => typeof name === "string")
    .find((name) => !Object.hasOwn(value, name));
}

/** The schema's own words under the keyword that is broken. */
export function writtenOf({ keyword, keywordLocation }: OutputUnit, { schema, parts }: Known): unknown {
  let at: unknown = schema;
  for (const step of stepsOf(keywordLocation).slice(0, -1)) {
    const target = step === "$ref" ? valueIn(at, ["__absolute_ref__"]) : undefined;
    at = typeof target === "string" ? parts[target] : valueIn(at, [step]);
  }
  return valueIn(at, [keyword]);
}

function valueIn(whole: unknown, path: readonly string[]): unknown {
  let value = whole;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}

/** A JSON pointer as a fragment of a URL. */
export function stepsOf(location: string): readonly string[] {
  return location
    .split("/")
    .slice(1)
    .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
}
