/** A status of 200 around a failure: `{"error": {…}}`, `{"success": false, …}`, `{"meta": {"status": "failure", …}}`. */

import type { AnswerHead } from "../../kernel/exchange/exchange.ts";
import { isList, isObject } from "../../kernel/text/json.ts";
import { remembered } from "../../platform/remembered.ts";
import { wordSet } from "../../kernel/text/word-set.ts";
import { type Facts, LONGEST_CODE } from "./facts.ts";
import { classifyRefusal } from "./classify.ts";
import type { Classification } from "./rules.ts";
import { MOST_REMEMBERED } from "./words.ts";

/** A larger answer is the resource itself. */
const MOST_REFUSAL_BYTES = 4_096;
const MOST_LEAVES = 8;
const MOST_LEVELS = 5;
const REFUSING_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 429, 498]);

/**
 * A good answer may be full of words about limits and keys, so its JSON is read as a refusal only if it looks like a
 * failure. Where nothing but a failure stands there, it is one without any word that we know.
 */
export function classifyJson(
  head: AnswerHead,
  body: Uint8Array,
  value: unknown,
  facts: () => Facts,
): Classification | undefined {
  const told = isList(value) && value.length === 1 ? value[0] : value;
  if (body.length > MOST_REFUSAL_BYTES || !isObject(told) || !speaksOfFailure(told, 1)) return undefined;
  const envelope = envelopeOf(told);
  if (envelope === undefined) return undefined;
  const { codes, kind, leaves, isBare, isExplained } = envelope;
  const status = isExplained ? codes.find((code) => REFUSING_STATUSES.has(code)) : undefined;
  const isFailure = saysFailure(envelope);
  // A list of codes with a message each may be content.
  const mayBe = told === value && mayBeFailure(envelope);
  if (status !== undefined || isFailure || mayBe) {
    const found = classifyRefusal(head, facts(), status ?? 200);
    if (found !== undefined) return found;
  }
  if (kind !== "verdict" || !isBare || !(isFailure || (mayBe && isExplained))) return undefined;
  const said = leaves
    .map((leaf) => (typeof leaf.value === "string" ? leaf.value.toLowerCase() : ""))
    .join(" ");
  const isWrong = REQUEST_IS_WRONG.test(said);
  if (!isFailure && !isWrong && !WENT_WRONG.test(said)) return undefined;
  const isOurs = isWrong || codes.some((code) => /^4\d\d/.test(String(code)));
  const means = isOurs ? "client_error" : "server_error";
  return { means, says: "an error in place of content", by: "the body" };
}

const REQUEST_IS_WRONG =
  /(?<![a-z])(?:invalid|incorrect|malformed|unsupported|missing|required|unexpected (?:endpoint|method|field|parameter)|no such|no data|unable to find|already exists?|param(?:eter)?s? error|not[ _](?:exist|(?:be )?found))(?![a-z])|notfound|参数|不存在/;
const WENT_WRONG =
  /(?<![a-z]|(?:no|without) )(?:error|failed|failure|cannot|can't|unable|exception)(?![a-z])/;

/** A value that holds no others, or several at once. */
type Leaf = { readonly name: Name; readonly value: unknown; readonly within: Within };

/**
 * What stands around it: only objects that hold a verdict, or one that is a fault, `{"error": …}`, or what is said of it,
 * `{"message": …}`, or one whose name says nothing of failures, such as `{"ocs": …}`.
 */
type Within = "verdict" | "fault" | "message" | "other";

/** An answer, however it is wrapped. */
type Envelope = {
  /**
   * `good`: it says that all went well, whatever its codes are, as in `{"code": 50000, "message": "success"}`.
   * `resource`: what has an identity is a thing that may have failed, and no refusal of ours.
   */
  readonly kind: "good" | "resource" | "verdict";
  /** Nothing stands beside a verdict and what it says of it. */
  readonly isBare: boolean;
  readonly leaves: readonly Leaf[];
  /** The numbers of its codes. */
  readonly codes: readonly number[];
  readonly hasMessage: boolean;
  /** Whoever asks for a thing with a code gets a description of it: what failed has a message. */
  readonly isExplained: boolean;
};

type Name = {
  /** Without case, hyphens and underscores. */
  readonly text: string;
  readonly isCode: boolean;
  readonly isMessage: boolean;
  /** Whatever stands here is of a fault, unless it says that there is none. */
  readonly isOfFault: boolean;
  readonly isSuccess: boolean;
  readonly isVerdict: boolean;
  readonly isContent: boolean;
  /** It says nothing of a resource. */
  readonly isAround: boolean;
};

const LEAD =
  "(?:api|err(?:or)?|fail(?:ed)?|fault|inner|message|msg|reason|res(?:p(?:onse)?|ult)?|ret(?:urn)?|req(?:uest)?|stat(?:us)?|sub|user)";
const CODE = new RegExp(
  `^(?:${LEAD}*(?:code|cd|stat|status)|info(?:code)?|${LEAD}(?:no|id)|cod|ret|err(?:or)?)$`,
);
const MESSAGE = new RegExp(
  `^${LEAD}*(?:emsg|msg|message|desc|description|te?xt|string|reason|detail|info|note|information|body|error|remark|cause|hint|resolution)s?$`,
);
const EXPLAINS = new RegExp(`(?:msg|message|desc|error|details?)$|^${LEAD}+description$`);
const OF_FAULT = new RegExp(
  `^${LEAD}*(?:err(?:or|eur)?(?:e?s)?|fail|fault|exception)(?:${LEAD}|code|cd|nm|id|no|te?xt|desc|description|info|detail|type)*$`,
);
const SUCCESS = wordSet("ok success issuccess successful issuccessful succeeded");
const VERDICT = wordSet("status result response");
const CONTENT = wordSet("data results items value");
const AROUND = wordSet(
  "id requestid traceid userid logid sid tid t time timestamp ts correlationid path type object jsonrpc request action method responsemetadata warning retryafter estimatedtime",
);
const LONGEST_NAME = 40;

const nameOf = remembered(MOST_REMEMBERED, (key: string): Name => {
  const text = key.slice(0, LONGEST_NAME).toLowerCase().replaceAll(/[_ -]/g, "");
  return {
    text,
    isCode: CODE.test(text),
    isMessage: MESSAGE.test(text),
    isOfFault: OF_FAULT.test(text),
    isSuccess: SUCCESS.has(text),
    isVerdict: VERDICT.has(text),
    isContent: CONTENT.has(text),
    isAround: AROUND.has(text),
  };
});

const FAILURE_WORDS = wordSet("err error fail failed failure ko nok not_ok notok unauthorized forbidden");

/** A status of a failure, or a code that begins with one: 404, 50013, 40101. */
const FAILED = /^[45]\d\d(?:\d\d)?$/;

/** It says that it failed, and perhaps no more. */
function saysFailure({ leaves, codes, hasMessage, kind, isBare, isExplained }: Envelope): boolean {
  const isAlone = isBare && kind !== "resource";
  if (isAlone && isExplained && codes.some((code) => FAILED.test(String(code)))) return true;
  if (isAlone && hasMessage && codes.some((code) => code < 0)) return true;
  return leaves.some((leaf) => {
    const { name, value, within } = leaf;
    if (name.isSuccess) return value === false || value === "false";
    if (within === "fault") return isOfFault(leaf);
    if (kind === "resource") return false;
    if ((isAlone || name.text === "error" || name.text === "errors") && isOfFault(leaf)) return true;
    return isFailureWord(value) && within !== "other" && (name.isVerdict || (isAlone && hasMessage));
  });
}

/** It is a failure, if words or codes say of what. */
function mayBeFailure({ leaves, hasMessage, kind, isBare }: Envelope): boolean {
  if (kind !== "verdict") return false;
  const isWhole = isBare && hasMessage;
  if (leaves.length > 1 && leaves.every(({ name }) => name.isMessage && !name.isOfFault)) return true;
  return leaves.some(
    ({ name, value }) =>
      (name.isCode && isFault(value, name)) ||
      // Zero is success to some and failure to others, so what stands beside it decides.
      (isWhole && (name.isVerdict || name.isSuccess) && isNo(value)) ||
      (isWhole && name.text === "type" && isFailureWord(value)) ||
      // `{"status": {"message": …, "value": 19}}`
      (leaves.length === 2 && hasMessage && name.text === "value" && isFault(value, name)) ||
      (leaves.length === 1 && (name.isMessage || name.isVerdict)),
  );
}

/** Whether anything in it could be a failure: most good answers say nothing of one, and cost no more than this look. */
function speaksOfFailure(object: object, level: number): boolean {
  let [values, words, verdicts] = [0, 0, 0];
  for (const key in object) {
    const each: unknown = Reflect.get(object, key);
    const value: unknown = isList(each) && each.length === 1 ? each[0] : each;
    const name = nameOf(key);
    if (isFailureWord(value) || ((name.isCode || name.text === "value") && isFault(value, name))) return true;
    if ((name.isVerdict || name.isSuccess) && isNo(value)) return true;
    if (name.isOfFault && value !== false && !isNothing(value)) return true;
    if (!isObject(value)) {
      values += 1;
      if (name.isMessage) words += 1;
      if (name.isVerdict) verdicts += 1;
    } else if (level < MOST_LEVELS && speaksOfFailure(value, level + 1)) return true;
  }
  // Words alone may say of what, and so may a verdict alone.
  return values > 0 && (words === values || verdicts === values);
}

function envelopeOf(value: object): Envelope | undefined {
  const all = leavesIn(value, "verdict", 1);
  if (all === undefined) return undefined;
  const near = all.filter(({ within }) => within !== "other");
  const isGood = near.some(saysGood) && !near.some((leaf) => leaf.name.isSuccess && isNo(leaf.value));
  const isBare = all.every(isKnown);
  const leaves = isBare && !isGood ? all : near;
  const beside = leaves.filter(({ within }) => within !== "fault");
  const isResource =
    beside.some((leaf) => leaf.name.text === "id" && !isNothing(leaf.value)) &&
    !beside.some(({ name }) => name.text === "jsonrpc");
  return {
    kind: isResource ? "resource" : isGood ? "good" : "verdict",
    isBare,
    leaves,
    codes: isGood ? [] : leaves.filter(({ name }) => name.isCode).map((leaf) => Number(leaf.value)),
    hasMessage: beside.some((leaf) => leaf.name.isMessage && isFilled(leaf.value)),
    isExplained: leaves.some(({ name, within }) => within === "fault" || EXPLAINS.test(name.text)),
  };
}

/** Undefined where there is content, or more than a failure says. */
function leavesIn(object: object, within: Within, level: number): readonly Leaf[] | undefined {
  const leaves: Leaf[] = [];
  let own = 0;
  for (const [key, each] of Object.entries(object)) {
    const name = nameOf(key);
    const value: unknown = isList(each) && each.length === 1 ? each[0] : each;
    const isContent = name.isContent && within !== "fault" && typeof each === "object" && isFilled(each);
    if (isObject(value) && isFilled(each) && !name.isAround && level < MOST_LEVELS) {
      const inner = leavesIn(value, withinOf(name, within), level + 1);
      if (inner === undefined || (isContent && !isOnlyFailure(inner))) return undefined;
      leaves.push(...inner);
    } else {
      own += 1;
      if (isContent || (within === "verdict" && own > MOST_LEAVES)) return undefined;
      leaves.push({ name, value: isObject(value) ? each : value, within });
    }
  }
  return leaves;
}

/** `{"data": {"error_code": …, "error": …}}` */
function isOnlyFailure(leaves: readonly Leaf[]): boolean {
  return leaves.every(isKnown) && leaves.some(isOfFault);
}

function withinOf(name: Name, around: Within): Within {
  if (around === "fault" || name.isOfFault) return "fault";
  if (around !== "verdict") return around;
  if (name.isMessage) return "message";
  const isOfVerdict =
    name.isVerdict || name.isContent || /(?:resp(?:onse)?|head(?:er)?|meta(?:data)?)$/.test(name.text);
  return isOfVerdict ? "verdict" : "other";
}

/** It belongs to a verdict, or says nothing. */
function isKnown({ name, value, within }: Leaf): boolean {
  if (within === "fault" || within === "message" || isNothing(value)) return true;
  if (name.isCode || name.isMessage || name.isOfFault || name.isAround) return true;
  if (typeof value === "object") return false;
  return name.isSuccess || name.isVerdict || name.isContent || isFailureWord(value);
}

/** It is of a fault, and does not say that there is none. */
function isOfFault(leaf: Leaf): boolean {
  const { name, value, within } = leaf;
  if (saysGood(leaf) || !(within === "fault" || name.isOfFault)) return false;
  return isFilled(value) || (name.isCode && isFault(value, name));
}

function isFilled(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isObject(value)) return !Object.values(value).every(isBlank);
  return typeof value === "string" ? value !== "" : value === true;
}

function isNothing(value: unknown): boolean {
  return typeof value === "object" ? !isFilled(value) : isBlank(value);
}

function isBlank(value: unknown): boolean {
  return value === null || value === "" || value === 0;
}

function isFailureWord(value: unknown): boolean {
  return typeof value === "string" && FAILURE_WORDS.has(value.toLowerCase());
}

const GOOD =
  /^(?:ok|okay|healthy|up|pass|pong|done|none|no errors?)$|^success|(?<!un|not )success(?:ful(?:ly)?)?[.!]?$|(?<![不未没])成功|正常|정상|éxito|exitosa|sucesso|succès|erfolgreich|успешно/i;

function saysGood({ name, value }: Leaf): boolean {
  if (name.isSuccess) return value === true || value === "true";
  const isWord = typeof value === "string" && GOOD.test(value);
  if (name.isOfFault && name.isCode) return isWord || /^(?:0+|2\d\d)$/.test(String(value));
  return isWord && (name.isVerdict || name.isMessage || name.isOfFault);
}

function isNo(value: unknown): boolean {
  return value === false || value === "false" || value === 0 || value === "0";
}

/**
 * `AUTH-001`, `E101`; `ApiCallLimit`, `rate.limited`, `RATE_LIMITED`: one word alone, such as `active`, is a state, unless
 * it is that of a fault.
 */
const FAULT =
  /^(?:-?0{0,3}[1-9]\d{0,6}|[a-z]{1,10}[-_]?\d{1,6}|[a-z]{0,20}(?:unauth|forbid|denied|throttl|exceed|invalid|expired|error)[a-z]{0,20})$/i;
const WORDS_IN_ONE = /^(?=.*(?:[._-]|[a-z][A-Z]))[A-Za-z]+(?:[._-][A-Za-z]+)*$/;

/** Zero is success, and 200 is a status; a `status` of 1 is as often a success. */
function isFault(value: unknown, { text }: Name): boolean {
  if (value === 200 || value === "200" || (text === "status" && Number(value) === 1)) return false;
  if (typeof value === "number") return value !== 0;
  if (typeof value !== "string" || value.length > LONGEST_CODE) return false;
  return FAULT.test(value) || (WORDS_IN_ONE.test(value) && !/success/i.test(value));
}
