/** What a body says, picked out of whatever form it has: codes for machines, words for people, times. */

import type { JsonBody } from "../exchange/json-body.ts";

/** `place` is for people: never more than names that many APIs use. */
export type Fact = { readonly place: string; readonly text: string };

/** A value whose key is about waiting. */
export type TimeFact = Fact & { readonly key: string };

/** Facts that are looked through together: one in each line. */
export type Lines = { readonly text: string; readonly facts: readonly Fact[] };

export type Facts = {
  readonly form: "json" | "markup" | "text" | "none";
  /** Values for machines, in plain words: `insufficient quota`, for `insufficient_quota` as for `InsufficientQuota`. */
  readonly codes: Lines;
  /** Sentences, in lower case. */
  readonly words: Lines;
  readonly times: readonly TimeFact[];
  /** The text itself, in lower case. */
  readonly raw: string;
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
};

/** More of a body is not looked at. */
const MOST_BYTES = 65_536;
const MOST_VALUES = 120;
const MOST_LEVELS = 6;
const MOST_CODES = 24;
const MOST_TIMES = 20;
const MOST_WORD_CHARACTERS = 1_024;
const LONGEST_CODE = 100;
/** A sentence so short says no more than a code does: "Invalid key", "Developer Over Qps". */
const MOST_WORDS_OF_SHORT_SENTENCE = 4;
const LONGEST_SHORT_SENTENCE = 40;

const LENIENT_UTF8 = new TextDecoder();

const NO_LINES: Lines = { text: "", facts: [] };

export const NO_FACTS: Facts = {
  form: "none",
  codes: NO_LINES,
  words: NO_LINES,
  times: [],
  raw: "",
  json: undefined,
};

/** `headerCodes`: what headers say that are about an error. `json` reads the body. */
export function factsOf(
  body: Uint8Array,
  json: () => JsonBody,
  isProblem: boolean,
  headerCodes: readonly Fact[],
): Facts {
  const facts = factsOfBody(body, json, isProblem);
  if (headerCodes.length === 0) return facts;
  const codes = headerCodes.map(({ place, text }) => ({
    place,
    text: plainWords(text.slice(0, LONGEST_CODE)),
  }));
  return { ...facts, codes: linesOf([...codes, ...facts.codes.facts]) };
}

function factsOfBody(body: Uint8Array, readJson: () => JsonBody, isProblem: boolean): Facts {
  const beginning = body.subarray(0, MOST_BYTES);
  const text = LENIENT_UTF8.decode(beginning);
  const first = /\S/.exec(text)?.[0];
  if (first === undefined) return NO_FACTS;
  const raw = text.toLowerCase().replaceAll("&#x27;", "'").replaceAll("&#39;", "'");
  if ((first === "{" || first === "[" || first === '"') && body.length <= MOST_BYTES) {
    const json = readJson();
    if (json.kind === "json") return { ...factsOfJson(json.value, isProblem), raw, json: json.value };
  }
  return { ...(first === "<" ? factsOfMarkup(text) : factsOfText(text)), raw, json: undefined };
}

type Found = Omit<Facts, "raw" | "json">;

const CODE_WORDS: ReadonlySet<string> = new Set([
  "code",
  "codes",
  "type",
  "types",
  "status",
  "reason",
  "reasons",
  "error",
  "errors",
  "err",
  "name",
  "id",
  "exception",
  "fault",
  "kind",
  "category",
  "policy",
  "quota",
  "title",
  "message",
  "msg",
  "info",
  "detail",
  "description",
]);
/** Of these, the key has to be the whole name: `request_id` and `field_name` tell nothing. */
const WHOLE_ONLY: ReadonlySet<string> = new Set(["id", "name"]);
/** What was asked for, or where to read more: no reason for a refusal. */
const NO_REASON: ReadonlySet<string> = new Set([
  "field",
  "param",
  "parameter",
  "path",
  "url",
  "uri",
  "link",
  "query",
  "input",
]);
const TIME_WORDS: ReadonlySet<string> = new Set([
  "retry",
  "reset",
  "resets",
  "wait",
  "estimated",
  "backoff",
  "available",
]);

/** Names that may be shown: an unknown one could be anything, a key among them. */
const SHOWN_NAMES: ReadonlySet<string> = new Set([
  ...CODE_WORDS,
  ..."__type @type errorCode error_code errorType error_type err_code errcode error_description error_message errorMessage".split(
    " ",
  ),
  ..."errorSummary ErrorCode ErrorMessage ErrorInfo Message Code Error Type details extensions metadata innerError innererror".split(
    " ",
  ),
  ..."faultstring faultcode errorcode statusCode status_code status_message Note Information explanation summary text info".split(
    " ",
  ),
  ..."fault policyName quotaId quota_limit quota_metric violations retryDelay retry_after retryAfter estimated_time meta response result data".split(
    " ",
  ),
]);

/** Level by level, so that what stands at the top comes first. */
function factsOfJson(value: unknown, isProblem: boolean): Found {
  const codes: Fact[] = [];
  const words: Fact[] = [];
  const times: TimeFact[] = [];
  let wordsLeft = MOST_WORD_CHARACTERS;
  const queue: {
    readonly value: unknown;
    readonly key: string;
    readonly place: string;
    readonly level: number;
  }[] = [{ value, key: "message", place: "", level: 0 }];
  for (let at = 0; at < queue.length && at < MOST_VALUES; at++) {
    const item = queue[at];
    if (item === undefined) break;
    const { value, key, place, level } = item;
    if (typeof value === "object" && value !== null) {
      if (level >= MOST_LEVELS) continue;
      if (Array.isArray(value)) {
        for (const [index, each] of value.slice(0, MOST_VALUES).entries())
          queue.push({ value: each, key, place: `${place}[${index}]`, level: level + 1 });
        continue;
      }
      for (const [name, each] of Object.entries(value)) {
        if (queue.length > MOST_VALUES) break;
        const shown = SHOWN_NAMES.has(name) ? name : "…";
        queue.push({
          value: each,
          key: name,
          place: place === "" ? shown : `${place}.${shown}`,
          level: level + 1,
        });
      }
      continue;
    }
    if (typeof value !== "string" && typeof value !== "number") continue;
    const kind = kindOf(key);
    const text = String(value);
    if (kind.isTime && times.length < MOST_TIMES && text.length <= LONGEST_CODE) {
      times.push({ key: kind.name, place: shownPlace(place), text });
    }
    if (kind.isNoReason) continue;
    const isSentence = typeof value === "string" && (text.length > LONGEST_CODE || /\s/.test(text));
    if (kind.isCode && codes.length < MOST_CODES && (!isSentence || isShortSentence(text))) {
      const code = isProblem && key === "type" ? problemCodeOf(text, level) : codeOf(text);
      if (code !== undefined) codes.push({ place: shownPlace(place), text: code });
    }
    if (wordsLeft > 0 && (isSentence || /[\u0080-\uffff]/.test(text))) {
      words.push({ place: shownPlace(place), text: plainSentence(text.slice(0, wordsLeft)) });
      wordsLeft -= text.length;
    }
  }
  return { form: "json", codes: linesOf(codes), words: linesOf(words), times };
}

/** Also written in one: `errorcode`, `errtype`. */
const JOINED_CODE_WORD =
  /^(?:err|error|status|fault|reason|exception|ret|return|res|resp)(?:code|type|status|name|reason|msg|message|info)$/;

/** What the name of a key says about its values. */
type KeyKind = {
  readonly name: string;
  readonly isCode: boolean;
  readonly isTime: boolean;
  readonly isNoReason: boolean;
};

/** An upstream sends the same names each time. */
const kinds = new Map<string, KeyKind>();
const MOST_KINDS = 1_000;

function kindOf(key: string): KeyKind {
  const known = kinds.get(key);
  if (known !== undefined) return known;
  const kind = kindOfKey(key);
  if (kinds.size >= MOST_KINDS) kinds.clear();
  if (key.length <= LONGEST_CODE) kinds.set(key, kind);
  return kind;
}

function kindOfKey(key: string): KeyKind {
  const name = plainWords(key.slice(0, LONGEST_CODE));
  const parts = name.split(" ");
  return {
    name,
    isCode: isCodeKey(parts),
    isTime: parts.some((part) => TIME_WORDS.has(part)),
    isNoReason: parts.some((part) => NO_REASON.has(part)),
  };
}

function shownPlace(place: string): string {
  return place === "" ? "the body" : `\`${place}\``;
}

function isShortSentence(text: string): boolean {
  if (text.length > LONGEST_SHORT_SENTENCE) return false;
  return text.split(" ", MOST_WORDS_OF_SHORT_SENTENCE + 1).length <= MOST_WORDS_OF_SHORT_SENTENCE;
}

function linesOf(facts: readonly Fact[]): Lines {
  return { facts, text: facts.map(({ text }) => text).join("\n") };
}

function isCodeKey(names: readonly string[]): boolean {
  return names.some(
    (name) =>
      (CODE_WORDS.has(name) && (!WHOLE_ONLY.has(name) || names.length === 1)) || JOINED_CODE_WORD.test(name),
  );
}

function codeOf(text: string): string | undefined {
  return text.includes("://") || text.startsWith("urn:") ? undefined : plainWords(text);
}

/** The type of a problem (RFC 9457) is an address: its last part tells. */
function problemCodeOf(text: string, level: number): string | undefined {
  if (level !== 1) return undefined;
  return plainWords(text.slice(Math.max(...["#", "/", ":"].map((end) => text.lastIndexOf(end))) + 1));
}

/** `InsufficientQuota`, `insufficient_quota` and `INSUFFICIENT-QUOTA` are the same two words. */
function plainWords(text: string): string {
  return text
    .replaceAll(/([a-z0-9])(?=[A-Z])/g, "$1 ")
    .replaceAll(/([A-Z])(?=[A-Z][a-z])/g, "$1 ")
    .replaceAll(/[^A-Za-z0-9\u0080-\uffff]+/g, " ")
    .trim()
    .toLowerCase();
}

/** Of white space and signs, all but a single space. */
const NOT_ONE_SPACE = /(?: |[^\S ]|[_\-"`*()])[\s_\-"`*()]+|[^\S ]|[_\-"`*()]/g;

/** In lower case, without quotes; hyphens and underscores are spaces. */
function plainSentence(text: string): string {
  return text.toLowerCase().replaceAll(/['’]/g, "").replaceAll(NOT_ONE_SPACE, " ").trim();
}

const CODE_ELEMENT = /<(?:\w{1,20}:)?(\w{0,20}(?:code|type|reason|status))>\s*([\w.:-]{1,100})\s*</gi;

function factsOfMarkup(text: string): Found {
  const codes: Fact[] = [];
  for (const [, name, value] of text.slice(0, MOST_WORD_CHARACTERS * 2).matchAll(CODE_ELEMENT)) {
    if (name === undefined || value === undefined || codes.length >= MOST_CODES) continue;
    codes.push({ place: SHOWN_NAMES.has(name) ? `\`<${name}>\`` : "an element", text: plainWords(value) });
  }
  const visible = visibleText(text).trim();
  if (codes.length < MOST_CODES && isShortSentence(visible))
    codes.push({ place: "the page", text: plainWords(visible) });
  return {
    form: "markup",
    codes: linesOf(codes),
    words: linesOf([{ place: "the page", text: plainSentence(visible) }]),
    times: [],
  };
}

/** What a reader of a page would see of its beginning, and its title. */
function visibleText(markup: string): string {
  let visible = "";
  let at = 0;
  while (at < markup.length && visible.length < MOST_WORD_CHARACTERS) {
    const open = markup.indexOf("<", at);
    const until = open === -1 ? markup.length : open;
    visible += `${markup.slice(at, Math.min(until, at + MOST_WORD_CHARACTERS))} `;
    if (open === -1) break;
    const name = markup.slice(open + 1, open + 7).toLowerCase();
    const isHidden = name === "script" || name.startsWith("style");
    const close = isHidden ? markup.indexOf("</", open) : open;
    const end = close === -1 ? -1 : markup.indexOf(">", close);
    if (end === -1) break;
    at = end + 1;
  }
  return visible;
}

function factsOfText(text: string): Found {
  const short = text.slice(0, MOST_WORD_CHARACTERS).trim();
  const isCode = /\s/.test(short) ? isShortSentence(short) : short.length <= LONGEST_CODE;
  const codes = isCode ? [{ place: "the body", text: plainWords(short) }] : [];
  return {
    form: "text",
    codes: linesOf(codes),
    words: linesOf([{ place: "the body", text: plainSentence(short) }]),
    times: [],
  };
}
