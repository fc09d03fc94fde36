/** A status of 200 around a failure: `{"error": {…}}`, `{"success": false, …}`, `{"status": "error"}`. */

import type { AnswerHead } from "../exchange/exchange.ts";
import { isObject } from "../exchange/json-value.ts";
import { wordSet } from "../text/word-set.ts";
import type { Facts } from "./facts.ts";
import { MOST_REFUSAL_BYTES, recognise } from "./recognise.ts";
import { type Recognition, SAYS } from "./rules.ts";

const MOST_MEMBERS = 8;
const REFUSING_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 429, 498]);
const BROKEN_STATUSES: ReadonlySet<number> = new Set([500, 502, 503, 504, 529]);

type Member = readonly [name: string, value: unknown];

/** What stands at the top of an answer, or in the only wrapper around it. */
type Envelope = {
  readonly members: readonly Member[];
  /** `{"error": {…}}` */
  readonly failure: object | undefined;
  readonly hasMessage: boolean;
  /** Only a verdict, and what it says of it. */
  readonly isBare: boolean;
  /** What has an identity is a thing that may have failed, and no refusal of ours. */
  readonly isNoResource: boolean;
  readonly isAlone: boolean;
  readonly isPair: boolean;
};

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
  if (body.length > MOST_REFUSAL_BYTES || !isObject(value)) return undefined;
  const envelope = envelopeOf(value);
  if (envelope === undefined) return undefined;
  const status = statusIn(envelope);
  const looksFailed = status !== undefined || shows(SIGNS, envelope);
  const found = looksFailed ? recognise(head, facts(), status ?? 200) : undefined;
  if (found !== undefined) return found;
  if (status !== undefined) return { means: "server_error", says: SAYS.server_error, by: "the body" };
  const isOnlyFailure = envelope.isBare && envelope.isNoResource && shows(CERTAIN_SIGNS, envelope);
  return isOnlyFailure ? unknownFailure(envelope) : undefined;
}

function unknownFailure({ members, failure }: Envelope): Recognition {
  const isOurs = codesOf(members, failure).some((code) => code >= 400 && code < 500);
  return {
    means: isOurs ? "client_error" : "server_error",
    says: "an error in place of content",
    by: "the body",
  };
}

/** Names are compared without case, hyphens and underscores. Whatever stands here is the code of a fault, unless it says that there is none. */
const FAULT_CODE = wordSet("errcode errorcode errno errorno");
const CODE = wordSet(
  `code errcode errorcode retcode returncode rescode resultcode statuscode subcode infocode responsecode
  status cod errno error ret`,
);
const SUCCESS = wordSet("ok success issuccess successful issuccessful succeeded");
const MESSAGE = wordSet(
  `msg message description text errmsg errormsg errormessage errordescription errortext retmsg returnmsg returnmessage
  statusmsg statusmessage submsg responsemessage error detail info note information body`,
);
const CONTENT = wordSet("data results items value");
const VERDICT = wordSet("status result response");
const FAILURE = wordSet("error fault errorresponse");
/** These say nothing of a resource. */
const AROUND = wordSet(
  "id requestid traceid userid logid sid correlationid time timestamp ts path type object jsonrpc errors",
);
const FAILURE_WORDS = wordSet("error fail failed failure ko nok unauthorized forbidden");

type Sign = {
  readonly on: ReadonlySet<string>;
  readonly is: (value: unknown, name: string) => boolean;
  readonly where?: readonly ("isNoResource" | "isBare" | "hasMessage" | "isAlone" | "isPair")[];
};

function shows(signs: readonly Sign[], envelope: Envelope): boolean {
  return signs.some(
    ({ on, is, where = [] }) =>
      where.every((condition) => envelope[condition]) &&
      envelope.members.some(([name, value]) => on.has(name) && is(value, name)),
  );
}

/** A failure without any word of what failed. */
const CERTAIN_SIGNS: readonly Sign[] = [
  { on: FAILURE, is: isObject },
  // Not how many of each there were.
  { on: wordSet("errors"), is: (value) => isFilled(value) && !isTally(value) },
  { on: SUCCESS, is: (value) => value === false || value === "false" },
  { on: wordSet("error"), is: isFilled, where: ["isNoResource"] },
  { on: VERDICT, is: isFailureWord, where: ["isNoResource"] },
];

/** A failure, if words or codes say of what. */
const SIGNS: readonly Sign[] = [
  ...CERTAIN_SIGNS,
  { on: SUCCESS, is: (value) => value === 0, where: ["isBare"] },
  { on: wordSet("status code info"), is: isShouted, where: ["isNoResource"] },
  { on: wordSet("errormessage"), is: isFilled, where: ["isNoResource"] },
  { on: wordSet("message"), is: (value) => value === "NOTOK", where: ["isNoResource"] },
  { on: CODE, is: isFault, where: ["isNoResource", "hasMessage"] },
  { on: VERDICT, is: isNo, where: ["isNoResource", "isBare", "hasMessage"] },
  { on: wordSet("type"), is: isFailureWord, where: ["isNoResource", "isBare", "hasMessage"] },
  { on: FAULT_CODE, is: isFaultCode, where: ["isNoResource", "isBare"] },
  { on: FAULT_CODE, is: isFaultName, where: ["isNoResource", "isBare", "hasMessage"] },
  { on: MESSAGE, is: isFilled, where: ["isNoResource", "isAlone"] },
  // `{"status": {"message": …, "value": 19}}`
  { on: wordSet("value"), is: isFaultCode, where: ["isNoResource", "isPair", "hasMessage"] },
];

function envelopeOf(value: object): Envelope | undefined {
  const members = unwrapped(value);
  if (members.length > MOST_MEMBERS || members.some(([name, each]) => CONTENT.has(name) && isFilled(each)))
    return undefined;
  const failure = members.map(([name, each]) => (FAILURE.has(name) ? each : undefined)).find(isObject);
  const isAround = (name: string): boolean =>
    [CODE, MESSAGE, SUCCESS, VERDICT, AROUND].some((known) => known.has(name));
  return {
    members,
    failure,
    hasMessage: members.some(([name, each]) => MESSAGE.has(name) && isFilled(each)),
    isBare: members.every(([name, each]) => each === failure || isAround(name) || isEmpty(each)),
    isNoResource:
      !members.some(([name, each]) => name === "id" && each !== null) ||
      members.some(([name]) => name === "jsonrpc"),
    isAlone: members.length === 1,
    isPair: members.length === 2,
  };
}

/** A status that the answer itself tells. */
function statusIn({ members, failure, hasMessage, isBare, isNoResource }: Envelope): number | undefined {
  const codes = codesOf(members, failure);
  const refusing = codes.find((code) => REFUSING_STATUSES.has(code));
  if (refusing !== undefined && (hasMessage || failure !== undefined)) return refusing;
  return failure !== undefined && isBare && isNoResource
    ? codes.find((code) => BROKEN_STATUSES.has(code))
    : undefined;
}

function codesOf(members: readonly Member[], failure: object | undefined): readonly number[] {
  return [...members, ...(failure === undefined ? [] : unwrapped(failure))]
    .filter(([name]) => CODE.has(name))
    .map(([, code]) => Number(code));
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

/** Zero is success to some and failure to others, so what stands beside it decides. */
function isNo(value: unknown): boolean {
  return value === false || value === 0 || value === "false";
}

/** One word that is no state of a thing. */
const FAULT_WORD = /^[a-z]{0,20}(?:unauth|forbid|denied|throttl|exceed|invalid|expired|error)[a-z]{0,20}$/i;
/** `ApiCallLimit`, `rate.limited`, `RATE_LIMITED`. One word alone, such as `active`, is a state. */
const WORDS_IN_ONE = /^(?=.*(?:[._-]|[a-z][A-Z]))[A-Za-z]+(?:[._-][A-Za-z]+)*$/;
const LONGEST_NAME = 100;

/** A `status` of 1 is as often a success, and one of one word the state of a thing. */
function isFault(value: unknown, name: string): boolean {
  if (name === "status") return isFaultCode(value) && Number(value) !== 1;
  return isFaultCode(value) || (typeof value === "string" && FAULT_WORD.test(value));
}

/** Zero is success, and 200 is a status. */
function isFaultCode(value: unknown): boolean {
  if (typeof value === "number") return value !== 0 && value !== 200;
  if (typeof value !== "string" || value.length > LONGEST_NAME) return false;
  return (
    (WORDS_IN_ONE.test(value) && !/success/i.test(value)) ||
    (/^-?[1-9]\d{2,6}$/.test(value) && value !== "200")
  );
}

/** `AUTH-001`, `E101`. */
function isFaultName(value: unknown): boolean {
  return isFaultCode(value) || (typeof value === "string" && /^[A-Z]{1,10}[-_]?\d{1,6}$/i.test(value));
}

function isShouted(value: unknown): boolean {
  return typeof value === "string" && /^[A-Z]+(?:_[A-Z]+)+$/.test(value);
}
