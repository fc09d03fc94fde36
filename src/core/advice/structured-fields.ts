/** `RateLimit-Policy` and `RateLimit`: the draft's structured fields, and their earlier forms, under any prefix. */

import { amountsOf, dictionaryIn, MOST_LIMITS, readAll } from "./amounts.ts";
import type { LimitField, LimitHeader } from "./field-name.ts";
import type { LimitFamily } from "./limits.ts";
import { LONGEST_WAIT_MS } from "../time/time-in.ts";

/** A member of a structured list (RFC 9651), as used for rate limits. */
export type StructuredItem = {
  /** A String or a Token. */
  readonly name: string;
  /** Byte sequences, such as a partition key, as text. Without values of other types. */
  readonly parameters: ReadonlyMap<string, string | number | boolean>;
};

/** Undefined if the text is not a list. Never throws. */
export type ParseList = (text: string) => readonly StructuredItem[] | undefined;

/** What one kind of rate-limit headers says. */
export type Reading = { readonly families: readonly LimitFamily[]; readonly malformed: number };

export const LONGEST_VALUE = 4096;

/** A field of the standard is a list, however many headers bring it. Whatever is not a list was joined of garbage. */
type Lists = { policy: string | undefined; state: string | undefined };

export function readStructuredFields(headers: readonly LimitHeader[], parseList: ParseList): Reading {
  const byPrefix = new Map<string, Lists>();
  for (const { field, value } of headers) {
    const isPolicy = field.part === "policy" && !field.isWeak;
    if (!isPolicy && !isState(field, value)) continue;
    const lists = byPrefix.get(field.prefix) ?? { policy: undefined, state: undefined };
    byPrefix.set(field.prefix, lists);
    const list = isPolicy ? "policy" : "state";
    const before = lists[list];
    // What is too long is not read: it need not be joined either.
    if (before === undefined) lists[list] = value;
    else if (before.length <= LONGEST_VALUE) lists[list] = `${before}, ${value}`;
  }
  const families: LimitFamily[] = [];
  let malformed = 0;
  for (const { policy, state } of byPrefix.values()) {
    const policies = policy === undefined ? [] : ifShort(policy, (text) => readPolicies(text, parseList));
    const states =
      state === undefined ? [] : ifShort(state, (text) => readStates(text, policies ?? [], parseList));
    const stated = new Set(states?.map(({ key }) => key));
    const told = [...(policies ?? []).filter(({ key }) => !stated.has(key)), ...(states ?? [])];
    const isTooMany = families.length + told.length > MOST_LIMITS;
    if (!isTooMany) families.push(...told);
    malformed += [policies === undefined, states === undefined, isTooMany].filter(Boolean).length;
  }
  return { families, malformed };
}

const STATE = /;\s*[rt]=/;

/** The state of a limit as the standard's list, under whatever prefix; draft 7 had a dictionary in its place. */
export function isState({ part, prefix }: LimitField, text: string): boolean {
  if (part !== "all") return false;
  return STATE.test(text) || (prefix === "ratelimit" && dictionaryIn(text) === undefined);
}

function ifShort<Read>(text: string, read: (text: string) => Read | undefined): Read | undefined {
  return text.length > LONGEST_VALUE ? undefined : read(text);
}

/** `"fixed window";"api";q=1000;w=300`: some send two names, of which the last counts. No list may have that. */
const NAME_BEFORE_NAME = /"[^"]{0,100}"\s*;(?=\s*")/g;

function readPolicies(text: string, parseList: ParseList): readonly LimitFamily[] | undefined {
  const items = parseList(text.replaceAll(NAME_BEFORE_NAME, "")) ?? [];
  return (items.length === 0 ? undefined : readAll(items, policyOf)) ?? unnamedPolicies(text);
}

function readStates(
  text: string,
  policies: readonly LimitFamily[],
  parseList: ParseList,
): readonly LimitFamily[] | undefined {
  const items = parseList(text) ?? [];
  return items.length === 0 ? undefined : readAll(items, (item) => stateOf(item, policies));
}

const UNTOLD = { remaining: undefined, resetMs: undefined, resource: undefined };

function policyOf(item: StructuredItem): LimitFamily | undefined {
  const [quota, seconds] = countsIn(item, "q", "w") ?? [];
  const unit = String(item.parameters.get("qu") ?? "requests");
  if (quota === undefined || (unit === "requests" && quota < 1) || seconds === 0) return undefined;
  return {
    ...UNTOLD,
    key: `policy ${item.name}`,
    unit,
    limit: quota,
    perMs: seconds && seconds * 1000,
    resource: resourceOf(item),
  };
}

/** Until draft 7 a policy had no name: `100;w=60, 5000;w=3600`. */
function unnamedPolicies(text: string): readonly LimitFamily[] | undefined {
  const amounts = amountsOf(text);
  if (amounts?.every(({ amount }) => amount >= 1) !== true) return undefined;
  return amounts.map(({ amount, perMs }, index) => ({
    ...UNTOLD,
    key: `policy ${index}`,
    unit: "requests",
    limit: amount,
    perMs,
  }));
}

/** The state of one policy, by its name. */
function stateOf(item: StructuredItem, policies: readonly LimitFamily[]): LimitFamily | undefined {
  const key = `policy ${item.name}`;
  const policy = policies.find((other) => other.key === key);
  const [remaining, seconds] = countsIn(item, "r", "t") ?? [];
  const saysNothing = remaining === undefined && (policy === undefined || seconds === undefined);
  if (saysNothing || (seconds ?? 0) * 1000 > LONGEST_WAIT_MS) return undefined;
  return {
    key,
    unit: policy?.unit ?? "requests",
    limit: policy?.limit,
    perMs: policy?.perMs,
    remaining: remaining && Math.floor(remaining),
    resetMs: seconds && Math.ceil(seconds * 1000),
    resource: resourceOf(item) ?? policy?.resource,
  };
}

/** Undefined if one of them is there, and is no count. */
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
