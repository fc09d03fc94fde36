/** Picks out of a body, whatever its form: codes for machines, words for people, times. */

import type { JsonBody } from "../../kernel/exchange/json-body.ts";
import { isList } from "../../kernel/text/json.ts";
import { remembered } from "../../platform/remembered.ts";
import { wordSet } from "../../kernel/text/word-set.ts";
import { cut, MOST_REMEMBERED, plain, type SetName, type Words } from "./words.ts";
import { SMALL_BODY_BYTES } from "../../kernel/exchange/exchange.ts";

/** So many values of a body are looked at, level by level, and so many characters of its sentences. */
export const REFUSAL_VALUES = 120;
const REFUSAL_LEVELS = 6;
/** In headers, and in the body. */
export const REFUSAL_CODES = 24;
const REFUSAL_TIMES = 20;
const REFUSAL_CHARS = 1_024;

/** A code or a sentence. `place` is for people: never more than names that many APIs use. */
export type Statement = { readonly place: string; readonly text: string; readonly words: Words };

/** A value whose key is about waiting. */
export type TimeFact = { readonly key: string; readonly text: string };

export type Facts = {
  readonly codes: readonly Statement[];
  readonly sentences: readonly Statement[];
  readonly times: readonly TimeFact[];
  /** The text itself, in lower case. */
  readonly raw: string;
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
};

export const NO_FACTS: Facts = { codes: [], sentences: [], times: [], raw: "", json: undefined };

export const LONGEST_CODE = 100;
/** A sentence so short says no more than a code does: "Invalid key", "Developer Over Qps". */
const SHORT_SENTENCE = /^\s*\S+(?:\s+\S+){0,3}\s*$/;
const LONGEST_SHORT_SENTENCE = 40;

const LENIENT_UTF8 = new TextDecoder();

/** `headerCodes`: what headers say that are about an error. `json` reads the body. */
export function factsOf(
  body: Uint8Array,
  json: () => JsonBody,
  isProblem: boolean,
  headerCodes: readonly Statement[],
): Facts {
  const text = LENIENT_UTF8.decode(body.subarray(0, SMALL_BODY_BYTES)).trimStart();
  const read = /^[{["]/.test(text) && body.length <= SMALL_BODY_BYTES ? json() : undefined;
  const isJson = read?.kind === "json";
  const found = isJson
    ? factsOfJson(read.value, isProblem)
    : text.startsWith("<")
      ? factsOfText("the page", visibleText(text.replaceAll(/<!\[CDATA\[|\]\]>/g, " ")))
      : factsOfText("the body", text);
  return {
    ...found,
    codes: [...headerCodes, ...found.codes],
    raw: text.toLowerCase().replaceAll(/&#(?:x27|39);/g, "'"),
    json: isJson ? read.value : undefined,
  };
}

type Found = Pick<Facts, "codes" | "sentences" | "times">;

const CODE_NAMES = wordSet(`
  code codes type types status reason reasons error errors err exception fault kind category policy quota title message msg
  info detail description errorcode errcode errtype errmsg errormessage statuscode retcode retmsg returncode respcode rescode
  faultcode reasoncode errno resultcode responsecode data result response`);
/** `request_id` and `field_name` tell nothing. */
const CODE_NAMES_ALONE = wordSet("id name");
/** Such a field repeats what was asked for, or says where to read more: it is no reason for a refusal. */
const NO_REASON = /\b(?:field|param|parameter|path|url|uri|link|query|input)\b/;
const TIME_NAMES = wordSet(
  "retry again reset resets wait estimated backoff cooldown cool until available next",
);

/** Names of these words may be shown: an unknown one could be anything, a key among them. */
const SHOWN_NAMES: ReadonlySet<string> = new Set([
  ...CODE_NAMES,
  ...CODE_NAMES_ALONE,
  ...TIME_NAMES,
  ...wordSet(`
  after delay details explanation extensions faultstring information inner innererror limit meta metadata metric note
  summary text time violations`),
]);

type Member = {
  readonly value: unknown;
  readonly key: string;
  readonly place: string;
  readonly level: number;
};

/** Level by level, so that what stands at the top comes first. */
function factsOfJson(root: unknown, isProblem: boolean): Found {
  const codes: Statement[] = [];
  const sentences: Statement[] = [];
  const times: TimeFact[] = [];
  let charactersLeft = REFUSAL_CHARS;
  const queue: Member[] = [{ value: root, key: "message", place: "", level: 0 }];
  for (const member of queue) {
    const { value, key, place, level } = member;
    if (typeof value === "object" && value !== null) {
      if (level < REFUSAL_LEVELS) queue.push(...membersOf(value, member, REFUSAL_VALUES - queue.length));
      continue;
    }
    if (typeof value !== "string" && typeof value !== "number") continue;
    const text = String(value);
    const { name, isCode, isTime } = meaningOf(key);
    if (isTime && times.length < REFUSAL_TIMES && text.length <= LONGEST_CODE)
      times.push({ key: name, text });
    if (NO_REASON.test(name)) continue;
    const shown = place === "" ? "the body" : `"${place}"`;
    const isSentence = typeof value === "string" && (text.length > LONGEST_CODE || /\s/.test(text));
    const isRead = charactersLeft > 0 && (isSentence || /[\u0080-\uffff]/.test(text));
    const sentence = isRead ? statement(shown, text.slice(0, charactersLeft)) : undefined;
    if (isCode && codes.length < REFUSAL_CODES && (!isSentence || isShort(text))) {
      const code = isProblem && key === "type" ? problemCode(text, level) : text;
      if (!/^urn:|:\/\//.test(code)) codes.push(code === sentence?.text ? sentence : statement(shown, code));
    } else if (isCode && isSentence && codes.length < REFUSAL_CODES) {
      codes.push(...shortPieces(text).map((piece) => statement(shown, piece)));
    }
    if (sentence !== undefined) {
      sentences.push(sentence);
      charactersLeft -= text.length;
    }
  }
  return { codes, sentences, times };
}

type KeyMeaning = {
  readonly name: string;
  readonly isCode: boolean;
  readonly isTime: boolean;
  readonly isShown: boolean;
};

const meaningOf = remembered(MOST_REMEMBERED, (key: string): KeyMeaning => {
  const name = plain(key.slice(0, LONGEST_CODE));
  const parts = name.split(" ");
  return {
    name,
    isCode: CODE_NAMES_ALONE.has(name) || parts.some((part) => CODE_NAMES.has(part)),
    isTime: parts.some((part) => TIME_NAMES.has(part)),
    isShown: key.length <= LONGEST_CODE && parts.every((part) => part === "" || SHOWN_NAMES.has(part)),
  };
});

/** The first of them: what stands behind so many names costs nothing. */
function membersOf(value: object, { key, place, level }: Member, most: number): readonly Member[] {
  if (isList(value))
    return value
      .slice(0, most)
      .map((each, index) => ({ value: each, key, place: `${place}[${index}]`, level: level + 1 }));
  return Object.keys(value)
    .slice(0, most)
    .map((name) => {
      const shown = meaningOf(name).isShown ? name : "…";
      const each: unknown = Reflect.get(value, name);
      return { value: each, key: name, place: place === "" ? shown : `${place}.${shown}`, level: level + 1 };
    });
}

export function saysAnywhere(sets: readonly SetName[], { codes, sentences }: Facts): boolean {
  const says = ({ words }: Statement): boolean => sets.some((set) => words.sets.has(set));
  return codes.some(says) || sentences.some(says);
}

export function statement(place: string, text: string): Statement {
  return { place, text, words: cut(text) };
}

function isShort(text: string): boolean {
  return text.length <= LONGEST_SHORT_SENTENCE && SHORT_SENTENCE.test(text);
}

/** "Rate limit." is a code, whatever sentence stands beside it. */
function shortPieces(text: string): readonly string[] {
  return text
    .slice(0, REFUSAL_CHARS)
    .split(/(?<=[.!?])\s+/)
    .filter(isShort)
    .slice(0, REFUSAL_CODES);
}

/** The type of a problem (RFC 9457) is an address: its last part tells. */
function problemCode(address: string, level: number): string {
  return level === 1 ? (address.split(/[#/:]/).at(-1) ?? "") : "";
}

/** Flickr: `<err code="100" msg="Invalid API Key"/>`. */
const SAID_IN_A_TAG = /\s(?:err(?:or)?)?(?:msg|message|text|string|reason)=["'][^"'<]{1,200}["']/i;

const ENDS_A_TITLE = /^\/title/;

/** A reader of the page would see this of its beginning, and its title. */
function visibleText(markup: string): string {
  let visible = "";
  let at = 0;
  while (at < markup.length && visible.length < REFUSAL_CHARS) {
    const open = markup.indexOf("<", at);
    const until = open === -1 ? markup.length : open;
    visible += `${markup.slice(at, Math.min(until, at + REFUSAL_CHARS))} `;
    if (open === -1) break;
    const name = markup.slice(open + 1, open + 7).toLowerCase();
    const isHidden = name === "script" || name.startsWith("style");
    const close = isHidden ? markup.indexOf("</", open) : open;
    const end = close === -1 ? -1 : markup.indexOf(">", close);
    if (end === -1) break;
    // A title has no full stop.
    if (ENDS_A_TITLE.test(name)) visible += ". ";
    if (!isHidden) visible += SAID_IN_A_TAG.exec(markup.slice(open, end))?.[0] ?? "";
    at = end + 1;
  }
  return visible;
}

function factsOfText(place: string, text: string): Found {
  const beginning = text.slice(0, REFUSAL_CHARS).trim();
  if (beginning === "") return NO_FACTS;
  const body = statement(place, beginning);
  const isCode = /\s/.test(beginning) ? isShort(beginning) : beginning.length <= LONGEST_CODE;
  return { codes: isCode ? [body] : [], sentences: [body], times: [] };
}
