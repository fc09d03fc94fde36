import {
  type LimitFamily,
  type ParseList,
  type Reading,
  type StructuredItem,
  NOTHING_SAID,
  UNREADABLE,
} from "./reading.ts";
import { dictionaryIn } from "./dictionary.ts";
import { draftOf, familiesIn, isState, LONGEST_RESOURCE, LONGEST_VALUE, readPart } from "./family.ts";
import { limitFieldOf } from "./field-name.ts";
import { amountsOf, readAll, splitOutsideQuotes } from "./header-list.ts";
import type { Headers } from "../exchange/exchange.ts";
import {
  LONGEST_WAIT_MS as FURTHEST_RESET_MS,
  plainNumberOf,
  type Anchor as Moment,
} from "../time/time-in.ts";

type Parameter = string | number | boolean | undefined;

function isCount(value: Parameter): value is number {
  return typeof value === "number" && value >= 0;
}

function resourceOf({ parameters }: StructuredItem): string | undefined {
  const partition = parameters.get("pk");
  return typeof partition === "string" ? partition.slice(0, LONGEST_RESOURCE) : undefined;
}

const UNNAMED = { remaining: undefined, resetMs: undefined, resource: undefined };

function policyOf(item: StructuredItem): LimitFamily | undefined {
  const { name, parameters } = item;
  const quota = parameters.get("q");
  const windowSeconds = parameters.get("w");
  if (!isCount(quota)) return undefined;
  if (windowSeconds !== undefined && (!isCount(windowSeconds) || windowSeconds === 0)) return undefined;
  const unit = parameters.get("qu") ?? "requests";
  if (unit === "requests" && quota < 1) return undefined;
  return {
    ...UNNAMED,
    key: `policy ${name}`,
    unit: String(unit),
    limit: quota,
    perMs: windowSeconds === undefined ? undefined : windowSeconds * 1000,
    resource: resourceOf(item),
  };
}

/** The state of one policy, by its name. */
function stateOf(item: StructuredItem, policies: readonly LimitFamily[]): LimitFamily | undefined {
  const { name, parameters } = item;
  const remaining = parameters.get("r");
  const resetSeconds = parameters.get("t");
  const policy = policies.find(({ key }) => key === `policy ${name}`);
  if (remaining === undefined ? policy === undefined || resetSeconds === undefined : !isCount(remaining))
    return undefined;
  if (resetSeconds !== undefined && (!isCount(resetSeconds) || resetSeconds * 1000 > FURTHEST_RESET_MS))
    return undefined;
  return {
    key: `policy ${name}`,
    unit: policy?.unit ?? "requests",
    limit: policy?.limit,
    perMs: policy?.perMs,
    remaining: remaining === undefined ? undefined : Math.floor(Number(remaining)),
    resetMs: resetSeconds === undefined ? undefined : Math.ceil(resetSeconds * 1000),
    resource: resourceOf(item) ?? policy?.resource,
  };
}

/** `limit=100, remaining=50, reset=30`, as in draft 7. */
function readDictionary(text: string, anchorMs: Moment): Reading {
  const draft = draftOf(STANDARD, undefined);
  const members = dictionaryIn(text);
  const isRead = members?.every(([part, value]) =>
    readPart(draft, { part, numberMs: undefined }, value, anchorMs),
  );
  return isRead === true ? { families: familiesIn(draft), malformed: 0 } : UNREADABLE;
}

const STANDARD = {
  family: "standard",
  prefix: "ratelimit",
  unit: "requests",
  isWeak: false,
  isPlain: true,
  saysRequests: true,
};

/** Until draft 7 a policy had no name: `100;w=60, 5000;w=3600`. */
function readUnnamed(text: string): Reading {
  const amounts = amountsOf(text);
  if (amounts === undefined || amounts.some(({ amount }) => amount < 1)) return UNREADABLE;
  const families = amounts.map(({ amount, perMs }, index) => ({
    ...UNNAMED,
    key: `policy ${index}`,
    unit: "requests",
    limit: amount,
    perMs,
  }));
  return { families, malformed: 0 };
}

const MOST_ITEMS = 50;

/** What RFC 9651 refuses and people send all the same: `"fixed window";"api";q=1000;w=300`. The last name counts. */
function parseLeniently(text: string): readonly StructuredItem[] | undefined {
  return readAll(splitOutsideQuotes(text, ",").slice(0, MOST_ITEMS), (member) => {
    let name: string | undefined;
    const parameters = new Map<string, string | number>();
    for (const piece of splitOutsideQuotes(member, ";")) {
      const [, key, value] = /^([a-z]{1,10})=(.{1,100})$/.exec(piece) ?? [];
      if (key !== undefined && value !== undefined)
        parameters.set(key, plainNumberOf(value) ?? unquoted(value));
      else if (/^"[^"]{0,100}"$/.test(piece)) name = unquoted(piece);
      else return undefined;
    }
    return name === undefined ? undefined : { name, parameters };
  });
}

function unquoted(text: string): string {
  return text.replaceAll('"', "");
}

function readPolicies(text: string, parseList: ParseList): Reading {
  const read = (items: readonly StructuredItem[] | undefined): readonly LimitFamily[] =>
    readAll(items ?? [], policyOf) ?? [];
  const strict = read(parseList(text));
  const policies = strict.length > 0 ? strict : read(parseLeniently(text));
  return policies.length > 0 ? { families: policies, malformed: 0 } : readUnnamed(text);
}

function readState(
  text: string,
  policies: readonly LimitFamily[],
  anchorMs: Moment,
  parseList: ParseList,
): Reading {
  const items = parseList(text) ?? [];
  if (items.length === 0) return readDictionary(text, anchorMs);
  const states = readAll(items, (item) => stateOf(item, policies));
  return states === undefined ? UNREADABLE : { families: states, malformed: 0 };
}

type Texts = { policy: string | undefined; state: string | undefined };

function joined(before: string | undefined, text: string): string {
  return before === undefined ? text : `${before}, ${text}`;
}

/** `RateLimit-Policy` and `RateLimit`: the draft's structured fields, and their earlier forms, under any prefix. */
export function readStructuredFields(headers: Headers, anchorMs: Moment, parseList: ParseList): Reading {
  const byPrefix = new Map<string, Texts>();
  for (const [name, value] of headers) {
    const field = limitFieldOf(name);
    if (field === undefined || (field.part !== "policy" && field.part !== "all")) continue;
    if (field.part === "policy" && field.isWeak) continue;
    if (field.part === "all" && !isState(name, value)) continue;
    const texts = byPrefix.get(field.prefix) ?? { policy: undefined, state: undefined };
    byPrefix.set(field.prefix, texts);
    if (field.part === "policy") texts.policy = joined(texts.policy, value);
    else texts.state = joined(texts.state, value);
  }
  let said = NOTHING_SAID;
  for (const { policy, state } of byPrefix.values()) {
    const policies =
      policy === undefined
        ? NOTHING_SAID
        : policy.length > LONGEST_VALUE
          ? UNREADABLE
          : readPolicies(policy, parseList);
    const states =
      state === undefined
        ? NOTHING_SAID
        : state.length > LONGEST_VALUE
          ? UNREADABLE
          : readState(state, policies.families, anchorMs, parseList);
    const stated = new Set(states.families.map(({ key }) => key));
    said = {
      families: [
        ...said.families,
        ...policies.families.filter(({ key }) => !stated.has(key)),
        ...states.families,
      ],
      malformed: said.malformed + policies.malformed + states.malformed,
    };
  }
  return said;
}
