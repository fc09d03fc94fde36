/** Whether an answer says what its operator asserts: the first thing that it does not, in words. */

import type { BodyAssertion, Check, Expectation, HeaderAssertion } from "../config/config.ts";
import {
  type Broken,
  judgeByContract,
  MOST_LEVELS_JUDGED,
  MOST_STEPS,
  type Steps,
  stepsOf,
} from "../contract/judge.ts";
import type { Rule } from "../contract/contract.ts";
import { brokenInWords } from "../contract/words.ts";
import { type Headers, headerValue, type WithoutKeys } from "../exchange/exchange.ts";
import {
  counted,
  existenceInWords,
  isOfType,
  isWithin,
  numberInWords,
  sizeInWords,
  typesInWords,
  valuesInWords,
} from "../exchange/json-value.ts";
import { pointerTo, valueAt } from "../exchange/json-pointer.ts";
import type { Part } from "../exchange/stream.ts";
import { oneLine } from "../text/escape.ts";
import type { Matcher } from "../text/matcher.ts";

const MOST_SHOWN_CHARACTERS = 60;
const MOST_PATH_CHARACTERS = 120;

/** Whether an answer must be matched with an expression, which may take long. */
export function hasExpressions({ body = [], headers = [] }: Pick<Expectation, "body" | "headers">): boolean {
  return [...body, ...headers].some(({ check }) => {
    if (check.kind !== "json_schema") return check.kind === "matches";
    return check.read?.contract.some((rules) => rules.some(isExpression));
  });
}

function isExpression(rule: Rule): boolean {
  return rule.kind === "pattern" || (rule.kind === "properties" && rule.matching.length > 0);
}

const TOO_MANY_STEPS = "matching its expression takes too many steps";

/** What is looked at: all of an answer, or a part of a stream. */
export type Looks = {
  readonly json: (of?: Part) => unknown;
  /** What is not UTF-8 is replaced. */
  readonly text: (of?: Part) => string;
};

/** Undefined where all of it holds. Without JSON, only assertions of the whole text make sense. */
export function unmetInBody(
  assertions: readonly BodyAssertion[],
  { json, text }: Looks,
  withoutKeys: WithoutKeys,
  matcher: Matcher,
): string | undefined {
  const steps: Steps = { left: MOST_STEPS };
  for (const { path, of, check, isCredit } of assertions) {
    const found = (what: unknown): string =>
      isCredit === true || path === undefined ? kindOf(what) : shown(what, withoutKeys);
    const value = path === undefined ? text(of) : valueAt(json(of), path);
    if (check.kind === "json_schema") {
      const unmet = unmetBySchema(check, path ?? "", value, steps, { found, withoutKeys, matcher });
      if (unmet !== undefined) return unmet;
      continue;
    }
    const expected = unmetBy(value, check, matcher);
    if (expected === TOO_MANY_STEPS) return `${placeOf(path, of)} could not be checked: ${expected}`;
    if (expected !== undefined) return `${placeOf(path, of)} is ${found(value)}, expected ${expected}`;
  }
  return undefined;
}

const PARTS_IN_WORDS: Readonly<Record<Part, string>> = {
  first: "the first event",
  last: "the last event",
  joined: "the joined text",
};

function placeOf(pointer: string | undefined, of?: Part): string {
  const part = of === undefined ? "the body" : PARTS_IN_WORDS[of];
  if (pointer === undefined || pointer === "") return part;
  return of === undefined ? `\`${pointer}\`` : `\`${pointer}\` of ${part}`;
}

type Showing = {
  readonly found: (value: unknown) => string;
  readonly withoutKeys: WithoutKeys;
  readonly matcher: Matcher;
};

const MORE_THAN_IS_DONE = `its schema takes more than ${MOST_STEPS} steps or ${MOST_LEVELS_JUDGED} levels`;

function unmetBySchema(
  { file, read }: Check & { kind: "json_schema" },
  path: string,
  value: unknown,
  steps: Steps,
  { found, withoutKeys, matcher }: Showing,
): string | undefined {
  const at = placeOf(path);
  if (read === undefined) return `${at} could not be checked: ${file} was not read`;
  if (value === undefined) return `${at} is missing, expected ${existenceInWords(true)}`;
  const broken = judgeByContract(read.contract, value, steps, matcher);
  if (steps.left < 0) return `${at} could not be checked: ${MORE_THAN_IS_DONE}`;
  if (broken === undefined) return undefined;
  const inside = cut(pointerTo(shownSteps(broken, withoutKeys)), MOST_PATH_CHARACTERS, withoutKeys);
  const place = `${broken.isName === true ? "the name of " : ""}${placeOf(`${path}${inside}`)}`;
  return `${place} is ${found(broken.value)}, expected ${brokenInWords(broken)}`;
}

/** Before a pointer is made of them: it would hide a key that has a slash. */
function shownSteps({ path }: Broken, withoutKeys: WithoutKeys): readonly (string | number)[] {
  return stepsOf(path)
    .slice(0, MOST_PATH_CHARACTERS / 2)
    .map((step) => (typeof step === "string" ? withoutKeys(step.slice(0, 2 * MOST_PATH_CHARACTERS)) : step));
}

/** The value of a header may be a session or a key, so it is never shown. */
export function unmetInHeaders(
  assertions: readonly HeaderAssertion[],
  headers: Headers,
  matcher: Matcher,
): string | undefined {
  for (const { name, check } of assertions) {
    const value = headerValue(headers, name);
    const expected = unmetBy(value, check, matcher);
    if (expected === undefined) continue;
    const found = value === undefined ? "missing" : `a text of ${counted(value.length, "character")}`;
    return `the header \`${name}\` is ${found}, expected ${expected}`;
  }
  return undefined;
}

/** Says in words which value was expected. */
function unmetBy(
  value: unknown,
  check: Exclude<Check, { kind: "json_schema" }>,
  matcher: Matcher,
): string | undefined {
  switch (check.kind) {
    case "exists":
      return (value !== undefined) === check.exists ? undefined : existenceInWords(check.exists);
    case "one_of":
      return check.values.some((each) => each === value) ? undefined : valuesInWords(check.values);
    case "type":
      return isOfType(value, check.type) ? undefined : typesInWords([check.type]);
    case "range":
      return typeof value === "number" && isWithin(value, check) ? undefined : numberInWords(check);
    case "items":
      return Array.isArray(value) && isWithin(value.length, check)
        ? undefined
        : sizeInWords("a list", "item", check);
    case "contains":
      return typeof value === "string" && value.toLowerCase().includes(check.text)
        ? undefined
        : `a text that contains ${JSON.stringify(check.text)}`;
    case "lacks":
      return typeof value === "string" && !value.toLowerCase().includes(check.text)
        ? undefined
        : `a text without ${JSON.stringify(check.text)}`;
    case "matches": {
      const matches = typeof value === "string" && matcher.matches(check.pattern, value);
      if (matches === undefined) return TOO_MANY_STEPS;
      return matches ? undefined : `a text that matches ${JSON.stringify(check.pattern)}`;
    }
    default:
      return check satisfies never;
  }
}

function shown(value: unknown, withoutKeys: WithoutKeys): string {
  if (value === undefined) return "missing";
  if (Array.isArray(value)) return `a list of ${counted(value.length, "item")}`;
  if (typeof value === "string") return `"${cut(value, MOST_SHOWN_CHARACTERS, withoutKeys)}"`;
  return typeof value === "object" && value !== null ? "an object" : withoutKeys(JSON.stringify(value));
}

/** A number that is a credit may come as a text. */
function kindOf(value: unknown): string {
  if (typeof value === "number") return "a number that is not told";
  if (typeof value === "string") return `a text of ${counted(value.length, "character")}`;
  return shown(value, String);
}

/** Escaping makes a text longer: the rest of a megabyte need not be escaped to be cut. */
function cut(text: string, most: number, withoutKeys: WithoutKeys): string {
  return withoutKeys(oneLine(text.slice(0, 2 * most), most));
}
