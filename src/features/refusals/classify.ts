/** Classifies a refusal by all that it says. */

import type { RefusalRule } from "./config.ts";
import { type AnswerHead, headerValue } from "../../kernel/exchange/exchange.ts";
import type { JsonBody } from "../../kernel/exchange/json-body.ts";
import type { RefusalMeaning } from "./config.ts";
import { valueAt } from "../../kernel/exchange/json-pointer.ts";
import {
  type Facts,
  factsOf,
  NO_FACTS,
  type Statement,
  saysAnywhere,
  statement,
  REFUSAL_CODES,
} from "./facts.ts";
import {
  AUTH,
  BAD_REQUEST,
  IS_LONG,
  IS_SHORT,
  isOn,
  OF_A_DAY,
  type Classification,
  RULES,
  type Rule,
  SAYS,
  STATUS_MEANINGS,
} from "./rules.ts";
import { botWallHeader, botWallPage } from "./bot-walls.ts";
import { BETWEEN_SENTENCES, type Found, type SetName, type Words } from "./words.ts";

/** The facts of an answer's body; none where it broke off. */
export function factsOfAnswer(head: AnswerHead, body: Uint8Array | undefined, json: () => JsonBody): Facts {
  if (body === undefined) return NO_FACTS;
  const type = headerValue(head.headers, "content-type") ?? "";
  const isProblem = /^\s*application\/problem\+json\s*(?:;|$)/i.test(type);
  return factsOf(body, json, isProblem, codesInHeaders(head));
}

/** `x-amzn-errortype: ThrottlingException:http://…`, `X-Error-Code: ERR_403_DEVELOPER_OVER_QPS`. */
function codesInHeaders({ headers }: AnswerHead): readonly Statement[] {
  return headers
    .filter(([name]) => /(?:^|-)error-?(?:code|type|reason)$/.test(name))
    .slice(0, REFUSAL_CODES)
    .map(([name, value]) =>
      statement(`"${name}"`, value.slice(0, LONGEST_HEADER_CODE).split(":", 1)[0] ?? ""),
    );
}
const LONGEST_HEADER_CODE = 100;

/** The answer is no success. Undefined where only its class of status tells. */
export function classifyRefusal(
  head: AnswerHead,
  facts: Facts,
  status: number = head.status,
  rules: readonly Rule[] = RULES,
): Classification | undefined {
  const classification = classifyByContent(head, facts, status, rules);
  // 402 asks for money, whatever its words.
  const isRefuted =
    status === 402 && classification?.means !== "quota" && classification?.means !== "blocked";
  if (classification !== undefined && !isRefuted) return classification;
  const own = STATUS_MEANINGS.get(status);
  return own && { ...own, by: undefined };
}

/** Codes before words, as they were made for machines; hints last. */
function classifyByContent(
  head: AnswerHead,
  facts: Facts,
  status: number,
  rules: readonly Rule[],
): Classification | undefined {
  const hold = (kind: "codes" | "sentences", some: readonly Rule[]): Classification | undefined =>
    firstThatHolds(some, kind, facts, status);
  return (
    botWallHeader(head) ??
    botWallPage(facts, status) ??
    hold("codes", rules) ??
    hold("sentences", rules) ??
    hold("codes", [AUTH]) ??
    signIn(head, status) ??
    hold("codes", [BAD_REQUEST]) ??
    hold("sentences", [BAD_REQUEST])
  );
}

function firstThatHolds(
  rules: readonly Rule[],
  kind: "codes" | "sentences",
  facts: Facts,
  status: number,
): Classification | undefined {
  const said = new Set(facts[kind].flatMap(({ words }) => [...words.sets]));
  for (const rule of said.size === 0 ? [] : rules) {
    const isPossible = rule.near.sets.every((any) => any.some((set) => said.has(set)));
    if (!isPossible || (rule.in ?? kind) !== kind || !isOn(rule.on, status)) continue;
    for (const { place, words } of facts[kind]) {
      const evidence = evidenceOf(rule, words);
      if (evidence !== undefined && !isRefutedElsewhere(rule, facts))
        return { ...meaningOf(rule, facts), by: place, words: evidence };
    }
  }
  return undefined;
}

function isRefutedElsewhere({ unlessAnywhere = [], unlessLong }: Rule, facts: Facts): boolean {
  return saysAnywhere(unlessAnywhere, facts) || (unlessLong === true && lasts("long", IS_LONG, facts));
}

/** A quota that speaks of minutes, and of no day, is a rate; a rate that speaks of a limit of a day is a quota. */
function meaningOf(rule: Rule, facts: Facts): Omit<Classification, "by"> {
  const { means, says } = rule;
  const isShort = lasts("short", IS_SHORT, facts);
  const isOfADay = (): boolean =>
    facts.sentences.some(({ words }) => OF_A_DAY.some((each) => evidenceOf(each, words) !== undefined));
  if (means === "rate" && !isShort && isOfADay()) return { means: "quota", says: SAYS.quota };
  if (rule.isLong !== true || lasts("long", IS_LONG, facts)) return { means, says };
  return isShort ? { means: "rate", says: SAYS.rate } : { means, says, isVague: true };
}

/** A code speaks of the refusal alone; in a sentence, the words of a limit must stand near. */
function lasts(words: SetName, near: Rule["near"], { codes, sentences }: Facts): boolean {
  return (
    codes.some((code) => code.words.sets.has(words) && !/\s/.test(code.text)) ||
    sentences.some((sentence) => evidenceOf({ near }, sentence.words) !== undefined)
  );
}

/** The words that make a rule hold. */
function evidenceOf(
  { near, unless = [] }: Pick<Rule, "near" | "unless">,
  { text, found, sets }: Words,
): string | undefined {
  if (!near.sets.every((any) => any.some((set) => sets.has(set)))) return undefined;
  for (const [index, first] of found.entries()) {
    if (!near.sets.some((any) => isIn(any, first))) continue;
    const reach = found.slice(index, index + near.words).filter(({ at }) => at < first.at + near.words);
    const proofs = near.sets.map((any) => reach.find((word) => isIn(any, word)));
    if (proofs.includes(undefined)) continue;
    const isExcluded = found
      .slice(Math.max(0, index - BETWEEN_SENTENCES), index + BETWEEN_SENTENCES)
      .some((word) => isIn(unless, word) && Math.abs(word.at - first.at) < BETWEEN_SENTENCES);
    if (!isExcluded) return text.slice(first.from, Math.max(...proofs.map((word) => word?.to ?? 0)));
  }
  return undefined;
}

function isIn(any: readonly SetName[], { sets }: Found): boolean {
  return any.some((set) => sets.includes(set));
}

type Sign = readonly [on: readonly number[], header: string, says: RegExp, means: RefusalMeaning];

/** Headers tell these where nothing in the body did. */
const SIGNS: readonly Sign[] = [
  // gRPC's own status, beside one of HTTP that tells nothing.
  [[200, 400], "grpc-status", /^7$/, "forbidden"],
  [[200, 400], "grpc-status", /^8$/, "rate"],
  [[200, 400], "grpc-status", /^14$/, "server_error"],
  [[200, 400], "grpc-status", /^16$/, "unauthorized"],
  [[400, 403], "www-authenticate", /\berror="?invalid_token\b/, "unauthorized"],
  [[403, 418, 420], "retry-after", /[1-9]/, "rate"],
  [[403], "x-ratelimit-remaining", /^0(?:\.0+)?(?![.\d])/, "rate"],
];

function signIn({ headers }: AnswerHead, status: number): Classification | undefined {
  const found = SIGNS.find(
    ([on, header, says]) => on.includes(status) && says.test(headerValue(headers, header) ?? ""),
  );
  if (found === undefined) return undefined;
  const [, header, , means] = found;
  return { means, says: means === "server_error" ? "overloaded" : SAYS[means], by: `"${header}"` };
}

/** A status of 200 with something else than the JSON that was expected. */
export function classifyText(head: AnswerHead, facts: Facts): Classification | undefined {
  const found = classifyByContent(head, facts, 200, RULES);
  const isShort = facts.sentences.every(({ words }) => words.text.length <= MOST_REFUSAL_CHARS);
  return isShort || found?.means === "blocked" ? found : undefined;
}

/** A page that says more is not about us: it may tell of limits and what they lead to. */
const MOST_REFUSAL_CHARS = 300;

/** By the operator's own rules, of which the first that holds decides. */
export function ruleFor(
  rules: readonly RefusalRule[],
  head: AnswerHead,
  facts: Facts,
): RefusalRule | undefined {
  return rules.find((rule) => (rule.status?.includes(head.status) ?? true) && holdsText(rule, head, facts));
}

function holdsText({ header, json, text = "" }: RefusalRule, head: AnswerHead, facts: Facts): boolean {
  if (header === undefined && json === undefined) return facts.raw.includes(text);
  const value = json === undefined ? headerValue(head.headers, header ?? "") : valueAt(facts.json, json);
  if (value === undefined) return false;
  if (text === "") return true;
  return (
    (typeof value === "string" || typeof value === "number" || typeof value === "boolean") &&
    String(value).toLowerCase().includes(text)
  );
}
