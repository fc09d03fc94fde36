/** `RateLimit-Policy` and `RateLimit`: the draft's structured fields, and their earlier forms, under any prefix. */

import { isInnerList, parseList, Token, type BareItem, type InnerList, type Item } from "structured-headers";
import { readAll } from "./amounts.ts";
import type { LimitField, LimitHeader } from "./field-name.ts";
import { type LimitFamily, MOST_LIMITS } from "./limits.ts";
import { LONGEST_WAIT_MS } from "./time-in.ts";

/** Each member of a structured list (RFC 9651) names a policy. */
type StructuredItem = {
  /** It came as a String or a Token. */
  readonly name: string;
  /** A byte sequence, such as a partition key, is text here. Values of other types are left out. */
  readonly parameters: ReadonlyMap<string, string | number | boolean>;
};

/** `malformed` counts headers that could not be read. */
export type Reading = { readonly families: readonly LimitFamily[]; readonly malformed: number };

/** A list may come in several headers, each with some of its members. */
export function readStructuredFields(headers: readonly LimitHeader[]): Reading {
  const readList = (
    text: string,
    read: (item: StructuredItem) => LimitFamily | undefined,
  ): readonly LimitFamily[] | undefined => {
    const items = structuredItemsIn(text) ?? [];
    return items.length === 0 ? undefined : readAll(items, read);
  };
  const policies = new Map<string, LimitFamily>();
  const states: LimitFamily[] = [];
  let malformed = 0;
  const mayKeep = (families: readonly LimitFamily[] | undefined): families is readonly LimitFamily[] => {
    const isKept = families !== undefined && policies.size + states.length + families.length <= MOST_LIMITS;
    if (!isKept) malformed++;
    return isKept;
  };
  for (const { field, value } of headers) {
    if (field.part !== "policy" || !isStructured(field, value)) continue;
    if (field.isWeak || ONLY_A_NAME.test(value)) continue;
    const told = readList(value.replaceAll(NAME_BEFORE_NAME, ""), policyOf);
    if (mayKeep(told)) for (const policy of told) policies.set(`${field.prefix} ${policy.key}`, policy);
  }
  const stated = new Set<string>();
  for (const { field, value } of headers) {
    if (field.part === "policy" || !isStructured(field, value)) continue;
    const told = readList(value, (item) =>
      stateOf(item, policies.get(`${field.prefix} ${policyKey(item.name)}`)),
    );
    if (!mayKeep(told)) continue;
    states.push(...told);
    for (const { key } of told) stated.add(`${field.prefix} ${key}`);
  }
  // A state says all that its policy says.
  const unstated = [...policies].flatMap(([name, policy]) => (stated.has(name) ? [] : [policy]));
  return { families: [...unstated, ...states], malformed };
}

/** `X-RateLimit-Policy: sliding-window` */
const ONLY_A_NAME = /^[a-z][\w-]*$/i;

const STATE = /;\s*[rt]=/;

/** Until draft 7 a policy had no name: `100;w=60, 5000;w=3600`. */
const UNNAMED = /^\d/;

/** The standard tells policies and their state as lists, under whatever prefix. */
export function isStructured({ part, prefix, isWeak }: LimitField, text: string): boolean {
  if (part === "policy") return isWeak || !UNNAMED.test(text);
  if (part !== "all") return false;
  return STATE.test(text) || prefix === "ratelimit";
}

/** `"fixed window";"api";q=1000;w=300`: some send two names, of which the last counts. No list may have that. */
const NAME_BEFORE_NAME = /"[^"]{0,100}"\s*;(?=\s*")/g;

/** A state names its policy. */
export function policyKey(name: string): string {
  return `policy ${name}`;
}

/** Some say what they count by the name alone: `"concurrent-requests";q=30`. */
function unitInName(name: string): string {
  return /\b(?:concurren(?:t|cy)|parallel|simultaneous|tokens|bytes|credits)\b/.exec(name)?.[0] ?? "requests";
}

const UNTOLD = { remaining: undefined, resetMs: undefined, resource: undefined };

function policyOf(item: StructuredItem): LimitFamily | undefined {
  const [quota, seconds] = countsIn(item, "q", "w") ?? [];
  const unit = String(item.parameters.get("qu") ?? unitInName(item.name));
  if (quota === undefined || (unit === "requests" && quota < 1) || seconds === 0) return undefined;
  return {
    ...UNTOLD,
    key: policyKey(item.name),
    unit,
    limit: quota,
    perMs: seconds && seconds * 1000,
    resource: resourceOf(item),
  };
}

/** Its policy tells the limit and the window. */
function stateOf(item: StructuredItem, policy: LimitFamily | undefined): LimitFamily | undefined {
  const [remaining, seconds] = countsIn(item, "r", "t") ?? [];
  const saysNothing = remaining === undefined && (policy === undefined || seconds === undefined);
  if (saysNothing || (seconds ?? 0) * 1000 > LONGEST_WAIT_MS) return undefined;
  return {
    key: policyKey(item.name),
    unit: policy?.unit ?? unitInName(item.name),
    limit: policy?.limit,
    perMs: policy?.perMs,
    remaining: remaining && Math.floor(remaining),
    resetMs: seconds && Math.ceil(seconds * 1000),
    resource: resourceOf(item) ?? policy?.resource,
  };
}

/** Undefined if one of them is there and is no count: then the whole member makes no sense. */
function countsIn(
  { parameters }: StructuredItem,
  ...keys: readonly string[]
): readonly (number | undefined)[] | undefined {
  const values = keys.map((key) => parameters.get(key));
  const isCount = (value: unknown): value is number | undefined =>
    value === undefined || (typeof value === "number" && value >= 0);
  return values.every(isCount) ? values : undefined;
}

function resourceOf({ parameters }: StructuredItem): string | undefined {
  const partition = parameters.get("pk");
  return typeof partition === "string" ? partition : undefined;
}

/** Parses an RFC 9651 List of Strings or Tokens; undefined for anything else. */
export function structuredItemsIn(text: string): readonly StructuredItem[] | undefined {
  try {
    const items: StructuredItem[] = [];
    for (const member of parseList(text)) {
      const item = itemOf(member);
      if (item === undefined) return undefined;
      items.push(item);
    }
    return items;
  } catch {
    // The library throws on invalid input, and not only its own errors.
    return undefined;
  }
}

function itemOf(member: Item | InnerList): StructuredItem | undefined {
  if (isInnerList(member)) return undefined;
  const [value, parameters] = member;
  const name = value instanceof ArrayBuffer ? undefined : textOf(value);
  if (name === undefined) return undefined;
  const readable = new Map<string, string | number | boolean>();
  for (const [key, parameter] of parameters) {
    const plain =
      typeof parameter === "number" || typeof parameter === "boolean" ? parameter : textOf(parameter);
    if (plain !== undefined) readable.set(key, plain);
  }
  return { name, parameters: readable };
}

function textOf(value: BareItem): string | undefined {
  if (typeof value === "string") return value;
  if (value instanceof ArrayBuffer) return btoa(String.fromCharCode(...new Uint8Array(value)));
  return value instanceof Token ? value.toString() : undefined;
}
