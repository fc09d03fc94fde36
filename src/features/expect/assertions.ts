/** Whether an answer says what its operator asserts: the first thing that it does not, in words. */

import type { Expectation } from "../../kernel/config/config.ts";
import type { BodyAssertion, HeaderAssertion } from "./config.ts";
import {
  type StreamPart,
  type Headers,
  headerValue,
  type WithoutKeys,
} from "../../kernel/exchange/exchange.ts";
import {
  counted,
  existenceInWords,
  isOfType,
  isWithin,
  numberInWords,
  sizeInWords,
  typesInWords,
  valuesInWords,
} from "../../kernel/exchange/json-value.ts";
import { contentOf } from "../../kernel/exchange/json-body.ts";
import { pointerTo, valueAt } from "../../kernel/exchange/json-pointer.ts";
import { oneLine } from "../../kernel/text/escape.ts";
import type { Answer } from "../../kernel/poll/answer.ts";
import { hasNoContent } from "../../kernel/poll/classify.ts";
import { type Judge, judgement, type JudgingPart } from "../../kernel/poll/judging.ts";
import { openExpressions } from "../../config/read/expressions.ts";
import { openContracts, type Broken, type Checks, NO_CHECKS } from "./contract/contracts.ts";

const MOST_SHOWN_CHARACTERS = 60;
const MOST_PATH_CHARACTERS = 120;

/** Whether an answer must be judged by an expression or a JSON Schema, which may take long. */
export function needsChecks({ body = [], headers = [] }: Pick<Expectation, "body" | "headers">): boolean {
  if ([...body, ...headers].some(({ matches }) => matches !== undefined)) return true;
  return body.some(({ jsonSchema }) => jsonSchema !== undefined);
}

/** An answer that says nothing else than its operator asserts. */
function expectationsBy(checks: Checks): Judge {
  return (answer) => {
    const { upstream, head } = answer;
    const { headers, body, unshown = [] } = upstream.expect;
    const unmet =
      (headers && unmetInHeaders(headers, head.headers, checks)) ??
      (body === undefined || hasNoContent(answer) ? undefined : unmetInBody(body, answer, unshown, checks));
    if (unmet === undefined) return undefined;
    return judgement("assertion", oneLine(`answered ${head.status}, but ${unmet}`));
  };
}

/** Undefined where all of it holds. Without JSON, only assertions of the whole text make sense. */
function unmetInBody(
  assertions: readonly BodyAssertion[],
  answer: Answer,
  unshown: readonly string[],
  checks: Checks,
): string | undefined {
  const { withoutKeys } = answer;
  for (const assertion of assertions) {
    const { path, of, jsonSchema } = assertion;
    const isTold = path !== undefined && !unshown.some((place) => `${place}/`.startsWith(`${path}/`));
    const found = (what: unknown): string => (isTold ? shown(what, withoutKeys) : kindOf(what));
    const value = path === undefined ? answer.text(of) : valueAt(contentOf(answer.json(of)), path);
    if (jsonSchema !== undefined) {
      const unmet = unmetBySchema(assertion, value, { found, withoutKeys, checks });
      if (unmet !== undefined) return unmet;
      continue;
    }
    const expected = unmetBy(value, assertion, checks);
    if (expected !== undefined) return `${placeOf(path, of)} is ${found(value)}, expected ${expected}`;
  }
  return undefined;
}

const PARTS_IN_WORDS: Readonly<Record<StreamPart, string>> = {
  first: "the first event",
  last: "the last event",
  joined: "the joined text",
};

function placeOf(pointer: string | undefined, of?: StreamPart): string {
  const part = of === undefined ? "the body" : PARTS_IN_WORDS[of];
  if (pointer === undefined || pointer === "") return part;
  return of === undefined ? `"${pointer}"` : `"${pointer}" of ${part}`;
}

type Showing = {
  readonly found: (value: unknown) => string;
  readonly withoutKeys: WithoutKeys;
  readonly checks: Checks;
};

function unmetBySchema(
  { path = "", jsonSchema: file = "", contract }: BodyAssertion,
  value: unknown,
  { found, withoutKeys, checks }: Showing,
): string | undefined {
  const at = placeOf(path);
  if (contract === undefined) return `${at} could not be checked: ${file} was not read`;
  if (value === undefined) return `${at} is missing, expected ${existenceInWords(true)}`;
  const broken = checks.brokenBy(contract, value);
  if (broken === undefined) return undefined;
  if (broken.kind === "unchecked") return `${at} could not be checked: ${broken.why}`;
  const inside = withoutKeys(oneLine(pointerTo(shownSteps(broken, withoutKeys)), MOST_PATH_CHARACTERS));
  const place = `${broken.isName ? "the name of " : ""}${placeOf(`${path}${inside}`)}`;
  return `${place} is ${found(broken.value)}, expected ${broken.expected}`;
}

/** Before a pointer is made of them: it would hide a key that has a slash. */
function shownSteps({ path }: Broken, withoutKeys: WithoutKeys): readonly string[] {
  return path
    .slice(0, MOST_PATH_CHARACTERS / 2)
    .map((step) => withoutKeys(step.slice(0, 2 * MOST_PATH_CHARACTERS)));
}

/** The value of a header may be a session or a key, so it is never shown. */
function unmetInHeaders(
  assertions: readonly HeaderAssertion[],
  headers: Headers,
  checks: Checks,
): string | undefined {
  for (const assertion of assertions) {
    const { name } = assertion;
    const value = headerValue(headers, name);
    const expected = unmetBy(value, assertion, checks);
    if (expected === undefined) continue;
    const found = value === undefined ? "missing" : `a text of ${counted(value.length, "character")}`;
    return `the header "${name}" is ${found}, expected ${expected}`;
  }
  return undefined;
}

/** Says in words which value was expected. */
function unmetBy(value: unknown, assertion: Omit<BodyAssertion, "path">, checks: Checks): string | undefined {
  const { exists = true, equals, oneOf, type, min, max, minItems, maxItems } = assertion;
  const values = equals === undefined ? oneOf : [equals];
  if (values !== undefined) return values.some((each) => each === value) ? undefined : valuesInWords(values);
  if (type !== undefined) return isOfType(value, type) ? undefined : typesInWords([type]);
  if (min !== undefined || max !== undefined) {
    const bounds = { min, max };
    return typeof value === "number" && isWithin(value, bounds) ? undefined : numberInWords(bounds);
  }
  if (minItems !== undefined || maxItems !== undefined) {
    const bounds = { min: minItems, max: maxItems };
    const holds = Array.isArray(value) && isWithin(value.length, bounds);
    return holds ? undefined : sizeInWords("a list", "item", bounds);
  }
  const text = typeof value === "string" ? value : undefined;
  const { contains, lacks, matches } = assertion;
  if (contains !== undefined) {
    const holds = text?.toLowerCase().includes(contains);
    return holds ? undefined : `a text that contains ${JSON.stringify(contains)}`;
  }
  if (lacks !== undefined) {
    const holds = text !== undefined && !text.toLowerCase().includes(lacks);
    return holds ? undefined : `a text without ${JSON.stringify(lacks)}`;
  }
  if (matches !== undefined) {
    const holds = text !== undefined && checks.matches(matches, text);
    return holds ? undefined : `a text that matches ${JSON.stringify(matches)}`;
  }
  return (value !== undefined) === exists ? undefined : existenceInWords(exists);
}

function shown(value: unknown, withoutKeys: WithoutKeys): string {
  if (value === undefined) return "missing";
  if (Array.isArray(value)) return `a list of ${counted(value.length, "item")}`;
  if (typeof value === "string") return `"${withoutKeys(oneLine(value, MOST_SHOWN_CHARACTERS))}"`;
  return typeof value === "object" && value !== null ? "an object" : withoutKeys(JSON.stringify(value));
}

/** A number that is a credit may come as a text. */
function kindOf(value: unknown): string {
  if (typeof value === "number") return "a number that is not told";
  if (typeof value === "string") return `a text of ${counted(value.length, "character")}`;
  return shown(value, String);
}

declare module "../../kernel/poll/judging.ts" {
  interface Libraries {
    readonly checks?: Checks;
  }
}

let expressions: ReturnType<typeof openExpressions> | undefined;
let contracts: ReturnType<typeof openContracts> | undefined;

export const EXPECTATIONS: JudgingPart = {
  of: ({ expect: { body, headers } }, { checks = NO_CHECKS }) =>
    body === undefined && headers === undefined ? {} : { judges: [expectationsBy(checks)] },
  needsThread: ({ expect }) => needsChecks(expect),
  async load({ expect: { body = [], headers = [] } }) {
    if ([...body, ...headers].some(({ matches }) => matches !== undefined)) expressions ??= openExpressions();
    if (body.some(({ jsonSchema }) => jsonSchema !== undefined)) contracts ??= openContracts();
    return { checks: { ...NO_CHECKS, ...(await expressions), ...(await contracts) } };
  },
};
