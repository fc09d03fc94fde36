/** What a refusal means, by all that it says. */

import type { RefusalRule } from "../config/config.ts";
import type { AnswerHead } from "../exchange/exchange.ts";
import { headerValue } from "../exchange/exchange.ts";
import type { JsonBody } from "../exchange/json-body.ts";
import { valueAt } from "../exchange/json-pointer.ts";
import { isObject } from "../exchange/json-value.ts";
import type { RefusalMeaning } from "../exchange/outcome.ts";
import { type Fact, type Facts, factsOf, type Lines, NO_FACTS } from "./facts.ts";
import {
  ANYTHING,
  CERTAIN_WALL_HEADERS,
  LONG,
  RECOGNISERS,
  type Recogniser,
  SAYS,
  SHORT,
  STATUS_MEANINGS,
  type Statuses,
} from "./recognisers.ts";

export type Recognition = {
  readonly means: RefusalMeaning;
  /** What was recognised, for people. */
  readonly says: string;
  /** Where: the place of the evidence, never its content. Undefined for the status itself. */
  readonly by: string | undefined;
  /** A quota, and no word of how long it lasts. */
  readonly isVague?: true;
  /** What stands there: a piece of the answer, for nobody but `explain`. */
  readonly words?: string;
};

function isProblem(head: AnswerHead): boolean {
  const type = headerValue(head.headers, "content-type");
  return type !== undefined && /^\s*application\/problem\+json\s*(?:;|$)/i.test(type);
}

/** The facts of an answer's body; none where it broke off. */
export function factsOfAnswer(head: AnswerHead, body: Uint8Array | undefined, json: () => JsonBody): Facts {
  return body === undefined ? NO_FACTS : factsOf(body, json, isProblem(head), codesInHeaders(head));
}

/** `x-amzn-errortype: ThrottlingException:http://…`, `X-Error-Code: ERR_403_DEVELOPER_OVER_QPS`. */
function codesInHeaders({ headers }: AnswerHead): readonly Fact[] {
  return headers.flatMap(([name, value]) =>
    /(?:^|-)error-?(?:code|type|reason)$/.test(name)
      ? [{ place: `\`${name}\``, text: value.split(":", 1)[0] ?? "" }]
      : [],
  );
}

/** Of an answer that is no success. Undefined where only its class of status tells. */
export function recognise(
  head: AnswerHead,
  facts: Facts,
  status: number = head.status,
): Recognition | undefined {
  const recognition = firstOf(RECOGNISERS, head, facts, status);
  if (recognition !== undefined) {
    // 402 asks for money, whatever its words.
    if (status !== 402 || recognition.means === "quota" || recognition.means === "blocked")
      return recognition;
  }
  const own = STATUS_MEANINGS.get(status);
  return own === undefined ? undefined : { ...own, by: undefined };
}

function firstOf(
  recognisers: readonly Recogniser[],
  head: AnswerHead,
  facts: Facts,
  status: number,
): Recognition | undefined {
  for (const recogniser of recognisers) {
    if (!isOn(recogniser.on, status)) continue;
    const evidence = evidenceOf(recogniser, head, facts);
    if (evidence === undefined) continue;
    const isLong = recogniser.isLong === true && saysAnywhere(LONG, facts);
    if (recogniser.isLong === true && !isLong && saysAnywhere(SHORT, facts))
      return { means: "rate", says: SAYS.rate, ...evidence };
    const isVague = recogniser.isLong === true && !isLong;
    return { means: recogniser.means, says: recogniser.says, ...(isVague && { isVague }), ...evidence };
  }
  return undefined;
}

function isOn({ only, not }: Statuses, status: number): boolean {
  return only === undefined ? not?.includes(status) !== true : only.includes(status);
}

/** The place of the evidence, and what stands there. */
type Evidence = { readonly by: string; readonly words: string };

function evidenceOf(recogniser: Recogniser, head: AnswerHead, facts: Facts): Evidence | undefined {
  const place = recogniser.in;
  if (typeof place === "object") {
    const value = headerValue(head.headers, place.header);
    const words = value !== undefined && recogniser.sign.test(value) ? value : undefined;
    return words === undefined ? undefined : { by: `\`${place.header}\``, words };
  }
  if (place === "page") {
    if (facts.form === "json" && !mayBeWallInJson(head, facts)) return undefined;
    const found = find(recogniser, facts.raw);
    return found === undefined || isContradicted(recogniser, facts)
      ? undefined
      : { by: facts.form === "json" ? "the body" : "the page", words: found.words };
  }
  const lines = place === "code" ? facts.codes : facts.words;
  const found = find(recogniser, lines.text);
  if (found === undefined) return undefined;
  const fact = factAt(lines, found.index);
  if (recogniser.unless?.test(fact.text) === true || isContradicted(recogniser, facts)) return undefined;
  return { by: fact.place, words: found.words };
}

function isContradicted({ unlessAnywhere }: Recogniser, facts: Facts): boolean {
  return unlessAnywhere !== undefined && saysAnywhere(unlessAnywhere, facts);
}

/** A wall that answers in JSON says so, sends the address of its captcha, or says little more than its name. */
function mayBeWallInJson({ status }: AnswerHead, { raw }: Facts): boolean {
  return (
    raw.includes("captcha") ||
    raw.includes("cloudflare_error") ||
    (raw.length <= LONGEST_WALL_IN_JSON && WALL_STATUSES.has(status))
  );
}
const LONGEST_WALL_IN_JSON = 600;
const WALL_STATUSES: ReadonlySet<number> = new Set([403, 405, 406, 418, 429, 503]);

/** The stems of a recogniser in one expression, which is one look at the text. */
const LOOKS: ReadonlyMap<Recogniser, RegExp> = new Map(
  RECOGNISERS.filter(({ stems }) => stems.length > 0).map((recogniser) => [
    recogniser,
    new RegExp(recogniser.stems.map((stem) => RegExp.escape(stem)).join("|")),
  ]),
);

function find(recogniser: Recogniser, text: string): { index: number; words: string } | undefined {
  if (text === "") return undefined;
  const stem = LOOKS.get(recogniser)?.exec(text);
  if (stem === null) return undefined;
  if (recogniser.sign === ANYTHING) return { index: 0, words: stem?.[0] ?? "" };
  const found = recogniser.sign.exec(text);
  return found === null ? undefined : { index: found.index, words: found[0] };
}

const NOWHERE: Fact = { place: "the body", text: "" };

function factAt({ facts }: Lines, index: number): Fact {
  let end = 0;
  for (const fact of facts) {
    end += fact.text.length + 1;
    if (index < end) return fact;
  }
  return NOWHERE;
}

function saysAnywhere(sign: RegExp, { codes, words }: Facts): boolean {
  return sign.test(codes.text) || sign.test(words.text);
}

/** A wall that sets a header of its own, whatever the status. */
export function certainWall(head: AnswerHead): Recognition | undefined {
  return head.headers.some((header) => CERTAIN_WALL_HEADERS.has(header[0]))
    ? firstOf(RECOGNISERS, head, NO_FACTS, head.status)
    : undefined;
}

/** A larger answer is the resource itself. */
const MOST_REFUSAL_BYTES = 4_096;
const MOST_KEYS = 8;
const FAILURE_WORDS: ReadonlySet<unknown> = new Set([
  "error",
  "fail",
  "failed",
  "failure",
  "ko",
  "nok",
  "unauthorized",
  "forbidden",
]);
const REFUSING_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 429, 498]);
const BROKEN_STATUSES: ReadonlySet<number> = new Set([500, 502, 503, 504, 529]);

/**
 * A status of 200 that carries a refusal. The JSON must look like a failure before its codes and words are read: `data`
 * is absent or null, and it says `errors`, `error`, `ok: false`, a status in capitals, or one single sentence. An
 * `error` that is one of the server needs no words.
 */
export function recogniseInJson(
  head: AnswerHead,
  body: Uint8Array,
  value: unknown,
  facts: () => Facts,
): Recognition | undefined {
  if (body.length > MOST_REFUSAL_BYTES || !isObject(value)) return undefined;
  const status = failingStatus(value);
  if (status === undefined) return undefined;
  const found = recognise(head, facts(), status);
  if (BROKEN_STATUSES.has(status))
    return found ?? { means: "server_error", says: SAYS.server_error, by: "the body" };
  return found?.by === undefined && status === 200 ? undefined : found;
}

/** Of a name, as many spellings as there are APIs: `errcode`, `retCode`, `error_code`, `status_code`, `sub_code`, `cod`. */
const CODE_NAME =
  /^(?:err(?:or)?|ret(?:urn)?|res(?:ult)?|status|sub|info|response)?code$|^(?:status|cod|errno|error|ret)$/;
/** Whatever stands here is the code of a fault, unless it says that there is none. */
const FAULT_CODE_NAME = /^err(?:or)?(?:code|no)$/;
const SUCCESS_NAME = /^(?:ok|(?:is)?success(?:ful)?|succeeded)$/;
/** `msg`, `errmsg`, `retMsg`, `error_msg`, `status_msg`, `error_message`, `info`. */
const MESSAGE_NAME =
  /^(?:err(?:or)?|ret(?:urn)?|status|sub|response)?(?:msg|message|description|text)$|^(?:error|detail|info|note|information)$/;
const CONTENT_NAME = /^(?:data|results|items|value)$/;
const VERDICT_NAME = /^(?:status|result|response)$/;
/** What says nothing of a resource: around any answer. */
const ENVELOPE_NAME = /^(?:.*(?:request|trace|user|log|s)id|id|time(?:stamp)?|ts|path|type|object|jsonrpc)$/;
/** Around the failure itself: `{"Response": {"Error": …}}`, `{"base_resp": …}`, `{"error_response": …}`. */
const WRAPPER_NAME = /(?<!error)(?:response|resp)$|^status$/;
const FAILURE_NAME = /^(?:error|fault|errorresponse)$/;
/** An object without any of these says nothing of a failure, as most answers do. */
const TELLING_NAME = new RegExp(
  [
    CODE_NAME,
    FAULT_CODE_NAME,
    SUCCESS_NAME,
    MESSAGE_NAME,
    CONTENT_NAME,
    VERDICT_NAME,
    WRAPPER_NAME,
    FAILURE_NAME,
    /^(?:errors|errormessage)$/,
  ]
    .map(({ source }) => source)
    .join("|"),
);

type Member = readonly [name: string, value: unknown];

/** With names of one spelling, out of what is only around them. */
function membersOf(value: object): readonly Member[] {
  const members = plainMembersOf(value);
  const inner = members.find(
    ([name, each]) =>
      isObject(each) && (WRAPPER_NAME.test(name) || (CONTENT_NAME.test(name) && isOnlyFailure(each))),
  )?.[1];
  const isWrapped =
    isObject(inner) &&
    members.every(([, each]) => each === inner || !isFilled(each) || typeof each === "string");
  if (!isWrapped) return members;
  return plainMembersOf(inner);
}

/** `{"data": {"error_code": …, "error": …}}` */
function isOnlyFailure(value: object): boolean {
  const members = plainMembersOf(value);
  return (
    members.some(([name, each]) => FAULT_CODE_NAME.test(name) && isFilled(each)) &&
    members.every(([name]) => CODE_NAME.test(name) || MESSAGE_NAME.test(name))
  );
}

function plainMembersOf(value: object): readonly Member[] {
  return Object.entries(value).map(([name, each]) => [plainName(name), each] as const);
}

function plainName(name: string): string {
  return /[^a-z]/.test(name) ? name.toLowerCase().replaceAll(/[_ -]/g, "") : name;
}

/** 200 for one that looks like a failure, another number where it says that itself. */
function failingStatus(value: object): number | undefined {
  if (!Object.keys(value).some((name) => TELLING_NAME.test(plainName(name)))) return undefined;
  const members = membersOf(value);
  if (members.length === 0 || members.length > MOST_KEYS) return undefined;
  const has = (names: RegExp, is: (value: unknown) => boolean): boolean =>
    members.some(([name, each]) => names.test(name) && is(each));
  if (has(CONTENT_NAME, isFilled)) return undefined;
  const hasMessage = has(MESSAGE_NAME, isFilled);
  const failure = members.find(([name, each]) => FAILURE_NAME.test(name) && isObject(each))?.[1];
  const codes = [...members, ...(isObject(failure) ? membersOf(failure) : [])]
    .filter(([name]) => CODE_NAME.test(name))
    .map(([, code]) => Number(code));
  const said = codes.find((code) => REFUSING_STATUSES.has(code));
  const hasBody = has(/^body$/, isFilled);
  if (said !== undefined && (hasMessage || hasBody || failure !== undefined)) return said;
  // Only its verdict, and what it says of it.
  const isBare = members.every(
    ([name, each]) =>
      isEmpty(each) ||
      each === failure ||
      [CODE_NAME, MESSAGE_NAME, SUCCESS_NAME, ENVELOPE_NAME].some((known) => known.test(name)),
  );
  const broken = codes.find((code) => BROKEN_STATUSES.has(code));
  if (broken !== undefined && failure !== undefined && isBare && !isResource(members)) return broken;
  const looksFailed =
    failure !== undefined ||
    has(/^errors$/, (each) => isFilled(each) && !isTally(each)) ||
    has(SUCCESS_NAME, (each) => each === false || each === "false" || (isBare && each === 0)) ||
    (!isResource(members) &&
      (has(/^error$/, isFilled) ||
        has(VERDICT_NAME, isFailureWord) ||
        has(/^(?:status|code|info)$/, isShouted) ||
        has(/^message$/, (each) => each === "NOTOK") ||
        (hasMessage && members.some(isFault)) ||
        (isBare && hasMessage && (has(VERDICT_NAME, isNo) || has(/^type$/, isFailureWord))) ||
        (isBare && has(FAULT_CODE_NAME, (each) => (hasMessage ? isFaultName(each) : isFaultCode(each)))) ||
        (members.length === 1 && has(MESSAGE_NAME, isFilled)) ||
        (members.length === 2 && has(/^message$/, isFilled) && has(/^value$/, isFaultCode)) ||
        has(/^errormessage$/, isFilled)));
  return looksFailed ? 200 : undefined;
}

/** What has an identity is a thing that may have failed, and no refusal of ours. */
function isResource(members: readonly Member[]): boolean {
  return (
    members.some(([name, each]) => name === "id" && each !== null) &&
    !members.some(([name]) => name === "jsonrpc")
  );
}

function isFilled(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === "object") return value !== null && Object.keys(value).length > 0;
  return typeof value === "string" ? value !== "" : value === true;
}

const LONGEST_NAME = 100;

/** `ApiCallLimit`, `rate.limited`, `RATE_LIMITED`. One word alone, such as `active`, is a state. */
function isWordsInOne(text: string): boolean {
  return (
    text.length <= LONGEST_NAME &&
    /^[A-Za-z]+(?:[._-][A-Za-z]+)*$/.test(text) &&
    /[._-]|[a-z][A-Z]/.test(text) &&
    !/success/i.test(text)
  );
}

function isFailureWord(value: unknown): boolean {
  return typeof value === "string" && FAILURE_WORDS.has(value.toLowerCase());
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" ? !isFilled(value) : value === "";
}

/** One word that is no state of a thing. */
const FAULT_WORD = /^[a-z]{0,20}(?:unauth|forbid|denied|throttl|exceed|invalid|expired|error)[a-z]{0,20}$/i;

/** A `status` of 1 is as often a success, and one of one word the state of a thing. */
function isFault([name, value]: Member): boolean {
  if (!CODE_NAME.test(name)) return false;
  if (name === "status") return isFaultCode(value) && Number(value) !== 1;
  return isFaultCode(value) || (typeof value === "string" && FAULT_WORD.test(value));
}

/** Zero is success to some and failure to others, so what stands beside it decides. */
function isNo(value: unknown): boolean {
  return value === false || value === 0 || value === "false";
}

/** How many of each there were. */
function isTally(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((each) => typeof each === "number");
}

/** `AUTH-001`, `E101`. */
function isFaultName(value: unknown): boolean {
  return isFaultCode(value) || (typeof value === "string" && /^[A-Z]{1,10}[-_]?\d{1,6}$/i.test(value));
}

/** Zero is success, and 200 is a status. */
function isFaultCode(value: unknown): boolean {
  return typeof value === "number"
    ? value !== 0 && value !== 200
    : typeof value === "string" &&
        (isWordsInOne(value) || (/^-?[1-9]\d{2,6}$/.test(value) && value !== "200"));
}

function isShouted(value: unknown): boolean {
  return typeof value === "string" && /^[A-Z]+(?:_[A-Z]+)+$/.test(value);
}

/** A status of 200 with something else than the JSON that was expected. */
export function recogniseInText(head: AnswerHead, body: Uint8Array, facts: Facts): Recognition | undefined {
  const found = firstOf(RECOGNISERS, head, facts, 200);
  return found?.by !== undefined && (found.means === "blocked" || body.length <= MOST_REFUSAL_BYTES)
    ? found
    : undefined;
}

/** By the operator's own rules, of which the first that holds decides. */
export function ruleFor(
  rules: readonly RefusalRule[],
  head: AnswerHead,
  facts: Facts,
): RefusalRule | undefined {
  return rules.find(
    ({ status, place, text }) =>
      (status.length === 0 || status.includes(head.status)) && isAt(place, text, head, facts),
  );
}

function isAt(place: RefusalRule["place"], text: string, head: AnswerHead, facts: Facts): boolean {
  switch (place.kind) {
    case "header":
      return headerValue(head.headers, place.name)?.toLowerCase().includes(text) === true;
    case "json": {
      const value = valueAt(facts.json, place.pointer);
      if (value === undefined) return false;
      if (text === "") return true;
      return (
        (typeof value === "string" || typeof value === "number" || typeof value === "boolean") &&
        String(value).toLowerCase().includes(text)
      );
    }
    case "body":
      return facts.raw.includes(text);
    default:
      return place satisfies never;
  }
}
