/** A status of 200 around a failure: `{"error": {…}}`, `{"success": false, …}`, `{"status": "error"}`. */

import type { AnswerHead } from "../exchange/exchange.ts";
import { isList, isObject } from "../exchange/json-value.ts";
import { wordSet } from "../text/word-set.ts";
import type { Facts } from "./facts.ts";
import { recognise } from "./recognise.ts";
import type { Recognition } from "./rules.ts";

/** A larger answer is the resource itself. */
const MOST_REFUSAL_BYTES = 4_096;
const MOST_MEMBERS = 8;
const REFUSING_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 429, 498]);
const BROKEN_STATUSES: ReadonlySet<number> = new Set([500, 502, 503, 504, 529]);

/**
 * A good answer may be full of words about limits and keys, so its JSON is read as a refusal only if it looks like a
 * failure. Where nothing but a failure stands there, it is one without any word that we know.
 */
export function recogniseInJson(
  head: AnswerHead,
  body: Uint8Array,
  value: unknown,
  facts: () => Facts,
): Recognition | undefined {
  const told = isList(value) && value.length === 1 ? value[0] : value;
  if (body.length > MOST_REFUSAL_BYTES || !isObject(told)) return undefined;
  const envelope = envelopeOf(told);
  if (envelope === undefined) return undefined;
  const status = statusIn(envelope);
  const isFailure = saysFailure(envelope);
  // A list of codes with a message each may be content.
  if (status !== undefined || isFailure || (told === value && mayBeFailure(envelope))) {
    const found = recognise(head, facts(), status ?? 200);
    if (found !== undefined) return found;
  }
  if (!isFailure || !envelope.isBare || envelope.isResource) return undefined;
  const isOurs =
    envelope.codes.some((code) => /^4\d\d/.test(String(code))) || REQUEST_IS_WRONG.test(facts().raw);
  const means = isOurs ? "client_error" : "server_error";
  return { means, says: "an error in place of content", by: "the body" };
}

const REQUEST_IS_WRONG = /(?<![a-z])(?:invalid|missing|required|not (?:exist|found))(?![a-z])/;

/** Its name is without case, hyphens and underscores. */
type Member = readonly [name: string, value: unknown];

/** What stands at the top of an answer, or in the only wrapper around it. */
type Envelope = {
  readonly members: readonly Member[];
  /** `{"error": {…}}` */
  readonly failure: object | undefined;
  /** The numbers of its codes, and of those in the failure. */
  readonly codes: readonly number[];
  readonly hasMessage: boolean;
  /** Only a verdict, and what it says of it. */
  readonly isBare: boolean;
  /** What has an identity is a thing that may have failed, and no refusal of ours. */
  readonly isResource: boolean;
};

/** Whatever stands here is the code of a fault, unless it says that there is none. */
const FAULT_CODE = wordSet("errcode errorcode errorno errno errorid");
const CODE = wordSet(
  `code errcode errorcode errorid retcode returncode rescode resultcode statuscode subcode infocode responsecode
  status cod errno error ret info`,
);
const SUCCESS = wordSet("ok success issuccess successful issuccessful succeeded");
const MESSAGE = wordSet(
  `msg message description text errmsg errormsg errormessage errordescription errortext retmsg returnmsg returnmessage
  statusmsg statusmessage statustext submsg reason responsemessage error detail details info note information body`,
);
const CONTENT = wordSet("data results items value");
const VERDICT = wordSet("status result response");
const FAILURE = wordSet("error fault errorresponse");
/** These say nothing of a resource. */
const AROUND = wordSet(
  "id requestid traceid userid logid sid correlationid time timestamp ts path type object jsonrpc errors responsemetadata warning",
);
const FAILURE_WORDS = wordSet("error fail failed failure ko nok unauthorized forbidden");

/** A status of a failure, or a code that begins with one: 404, 50013, 40101. */
const FAILED = /^[45]\d\d(?:\d\d)?$/;

/** It says that it failed, and perhaps no more. */
function saysFailure(envelope: Envelope): boolean {
  const { members, failure, codes, isBare, isResource } = envelope;
  return (
    failure !== undefined ||
    (isBare && !isResource && isToldOff(envelope) && codes.some((code) => FAILED.test(String(code)))) ||
    members.some(([name, value]) => {
      // Not how many of each there were.
      if (name === "errors") return isFilled(value) && !isTally(value);
      if (SUCCESS.has(name)) return value === false || value === "false";
      if (isResource) return false;
      return name === "error" ? isFilled(value) : VERDICT.has(name) && isFailureWord(value);
    })
  );
}

/** It is a failure, if words or codes say of what. */
function mayBeFailure({ members, hasMessage, isBare, isResource }: Envelope): boolean {
  if (isResource || !(isBare || hasMessage)) return false;
  const isWhole = isBare && hasMessage;
  return members.some(
    ([name, value]) =>
      (CODE.has(name) && isFault(value, name)) ||
      // Zero is success to some and failure to others, so what stands beside it decides.
      (isWhole && (VERDICT.has(name) || SUCCESS.has(name)) && isNo(value)) ||
      (isWhole && name === "type" && isFailureWord(value)) ||
      (isWhole && /^err(?:or)?(?:msg|message|text)$/.test(name) && isFilled(value)) ||
      // `{"status": {"message": …, "value": 19}}`
      (members.length === 2 && hasMessage && name === "value" && isFault(value, name)) ||
      (members.length === 1 && (MESSAGE.has(name) || name === "response")),
  );
}

function envelopeOf(value: object): Envelope | undefined {
  const members = unwrapped(value);
  if (members.length > MOST_MEMBERS || members.some(([name, each]) => CONTENT.has(name) && isFilled(each)))
    return undefined;
  const failure = members.map(([name, each]) => (FAILURE.has(name) ? each : undefined)).find(isObject);
  const isGood = members.some(saysGood);
  const isAround = (name: string): boolean =>
    [CODE, MESSAGE, SUCCESS, VERDICT, AROUND].some((known) => known.has(name));
  return {
    members,
    failure,
    codes: [...members, ...(failure === undefined ? [] : unwrapped(failure))]
      .filter(([name]) => CODE.has(name) && !isGood)
      .map(([, code]) => Number(code)),
    hasMessage: members.some(([name, each]) => MESSAGE.has(name) && isFilled(each)),
    isBare: members.every(([name, each]) => each === failure || isAround(name) || isEmpty(each)),
    isResource:
      members.some(([name, each]) => name === "id" && each !== null) &&
      !members.some(([name]) => name === "jsonrpc"),
  };
}

/** A status that the answer itself tells. */
function statusIn(envelope: Envelope): number | undefined {
  const { codes, isBare, isResource } = envelope;
  if (!isToldOff(envelope)) return undefined;
  const refusing = codes.find((code) => REFUSING_STATUSES.has(code));
  return refusing ?? (isBare && !isResource ? codes.find((code) => BROKEN_STATUSES.has(code)) : undefined);
}

/** Whoever asks for a thing with a code gets a description of it: what failed has a message. */
function isToldOff({ members, failure }: Envelope): boolean {
  return failure !== undefined || members.some(([name]) => /(?:msg|message|error|details?)$/.test(name));
}

/** Out of `{"Response": {"Error": …}}`, `{"base_resp": …}`, `{"data": {"error_code": …, "error": …}}`. */
function unwrapped(value: object): readonly Member[] {
  const members = plainMembersOf(value);
  const inner = members.find(
    ([name, each]) =>
      isObject(each) &&
      (/(?<!error)resp(?:onse)?$|^status$/.test(name) || (CONTENT.has(name) && isOnlyFailure(each))),
  )?.[1];
  const isAlone = members.every(([, each]) => each === inner || !isFilled(each) || typeof each === "string");
  return isObject(inner) && isAlone ? plainMembersOf(inner) : members;
}

function isOnlyFailure(value: object): boolean {
  const members = plainMembersOf(value);
  return (
    members.some(([name, each]) => FAULT_CODE.has(name) && isFilled(each)) &&
    members.every(([name]) => CODE.has(name) || MESSAGE.has(name))
  );
}

function plainMembersOf(value: object): readonly Member[] {
  return Object.entries(value).map(([name, each]) => [name.toLowerCase().replaceAll(/[_ -]/g, ""), each]);
}

function isFilled(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isObject(value)) return Object.values(value).some((each) => each !== null);
  return typeof value === "string" ? value !== "" : value === true;
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" ? !isFilled(value) : value === "" || value === false;
}

/** How many of each there were. */
function isTally(value: unknown): boolean {
  return isObject(value) && Object.values(value).every((each) => typeof each === "number");
}

function isFailureWord(value: unknown): boolean {
  return typeof value === "string" && FAILURE_WORDS.has(value.toLowerCase());
}

/** Whatever its code is, all went well: `{"code": 50000, "message": "success"}` */
const GOOD = /^(?:ok|okay|success|successful|succeeded|healthy|up|pass)$/i;

function saysGood([name, value]: Member): boolean {
  if (SUCCESS.has(name)) return value === true || value === "true";
  return (VERDICT.has(name) || MESSAGE.has(name)) && typeof value === "string" && GOOD.test(value);
}

function isNo(value: unknown): boolean {
  return value === false || value === "false" || value === 0 || value === "0";
}

/**
 * `AUTH-001`, `E101`; `ApiCallLimit`, `rate.limited`, `RATE_LIMITED`: one word alone, such as `active`, is a state, unless
 * it is that of a fault.
 */
const FAULT =
  /^(?:[1-9]\d{2,6}|-[1-9]\d{0,6}|[a-z]{1,10}[-_]?\d{1,6}|[a-z]{0,20}(?:unauth|forbid|denied|throttl|exceed|invalid|expired|error)[a-z]{0,20})$/i;
const WORDS_IN_ONE = /^(?=.*(?:[._-]|[a-z][A-Z]))[A-Za-z]+(?:[._-][A-Za-z]+)*$/;
const LONGEST_NAME = 100;

/** Zero is success, and 200 is a status; a `status` of 1 is as often a success. */
function isFault(value: unknown, name: string): boolean {
  if (value === 200 || value === "200" || (name === "status" && Number(value) === 1)) return false;
  if (typeof value === "number") return value !== 0;
  if (typeof value !== "string" || value.length > LONGEST_NAME) return false;
  return FAULT.test(value) || (WORDS_IN_ONE.test(value) && !/success/i.test(value));
}
