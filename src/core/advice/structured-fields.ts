import {
  type AdvertisedLimit,
  type ParseList,
  type StructuredItem,
  NOTHING_SAID,
  UNREADABLE,
  type QuotaLeft,
  type Reading,
} from "./reading.ts";
import { emptyFamily, quotasLeft, readPart } from "./family.ts";
import type { FamilyPart } from "./field-name.ts";
import { limitsOf, readAll, splitOutsideQuotes } from "./header-list.ts";
import { FURTHEST_RESET_MS } from "./reset.ts";
import { headerValue, type Headers } from "../exchange/exchange.ts";

/** By name; undefined if the policy counts something other than requests. */
type Policies = ReadonlyMap<string, AdvertisedLimit | undefined>;

function isCount(value: string | number | boolean | undefined): value is number {
  return typeof value === "number" && value >= 0;
}

function policyOf({ name, parameters }: StructuredItem): [string, AdvertisedLimit | undefined] | undefined {
  const quota = parameters.get("q");
  const windowSeconds = parameters.get("w");
  if (!isCount(quota)) return undefined;
  if (windowSeconds !== undefined && (!isCount(windowSeconds) || windowSeconds === 0)) return undefined;
  if ((parameters.get("qu") ?? "requests") !== "requests") return [name, undefined];
  if (quota < 1) return undefined;
  const perMs = windowSeconds === undefined ? undefined : windowSeconds * 1000;
  return [name, { requests: Math.floor(quota), perMs }];
}

function leftOf({ name, parameters }: StructuredItem, policies: Policies): QuotaLeft | undefined {
  const remaining = parameters.get("r");
  const resetSeconds = parameters.get("t");
  if (!isCount(remaining)) return undefined;
  const policy = policies.get(name);
  const left = { requests: Math.floor(remaining), limit: policy?.requests, perMs: policy?.perMs };
  if (resetSeconds === undefined) return { ...left, resetMs: undefined };
  if (!isCount(resetSeconds) || resetSeconds * 1000 > FURTHEST_RESET_MS) return undefined;
  return { ...left, resetMs: Math.ceil(resetSeconds * 1000) };
}

const DICTIONARY_PARTS: ReadonlyMap<string, FamilyPart> = new Map([
  ["limit", "limit"],
  ["remaining", "remaining"],
  ["reset", "reset"],
]);

/** `limit=100, remaining=50, reset=30`, as in draft 7. */
function readDictionary(text: string, anchorMs: number): Reading {
  const family = emptyFamily(undefined);
  for (const member of splitOutsideQuotes(text, ",")) {
    const key = member.split("=", 1)[0] ?? "";
    const part = DICTIONARY_PARTS.get(key);
    const value = member.slice(key.length + 1);
    if (part !== undefined && !readPart(family, part, value, { anchorMs, unit: "s" })) return UNREADABLE;
  }
  const hasAny = family.limits.length + family.remaining.length > 0;
  return hasAny ? { limits: family.limits, left: quotasLeft(family), malformed: 0 } : UNREADABLE;
}

function readPolicies(text: string, parseList: ParseList): { policies: Policies; reading: Reading } {
  const named = readAll(parseList(text) ?? [], policyOf) ?? [];
  const policies = new Map(named);
  if (named.length > 0) {
    const limits = named.flatMap(([, limit]) => limit ?? []);
    return { policies, reading: { ...NOTHING_SAID, limits } };
  }
  // Until draft 7 a policy had no name: `100;w=60, 5000;w=3600`.
  const limits = limitsOf(text);
  return { policies, reading: limits === undefined ? UNREADABLE : { ...NOTHING_SAID, limits } };
}

function readLeft(text: string, policies: Policies, anchorMs: number, parseList: ParseList): Reading {
  const items = parseList(text) ?? [];
  if (items.length === 0) return readDictionary(text, anchorMs);
  const left = readAll(items, (item) => leftOf(item, policies));
  if (left === undefined) return UNREADABLE;
  const isAboutRequests = items.map(({ name }) => !policies.has(name) || policies.get(name) !== undefined);
  return { ...NOTHING_SAID, left: left.filter((_, index) => isAboutRequests[index] === true) };
}

/** `RateLimit-Policy` and `RateLimit`: the draft's structured fields, and their earlier forms. */
export function readStructuredFields(headers: Headers, anchorMs: number, parseList: ParseList): Reading {
  const policyText = headerValue(headers, "ratelimit-policy");
  const leftText = headerValue(headers, "ratelimit");
  const { policies, reading } =
    policyText === undefined
      ? { policies: new Map<string, undefined>(), reading: NOTHING_SAID }
      : readPolicies(policyText, parseList);
  const left = leftText === undefined ? NOTHING_SAID : readLeft(leftText, policies, anchorMs, parseList);
  return {
    limits: [...reading.limits, ...left.limits],
    left: left.left,
    malformed: reading.malformed + left.malformed,
  };
}
