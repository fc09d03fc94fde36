/** Judges what an exchange means. No other place judges answers. */

import type { Advice, ToldByHeaders } from "../advice/advice.ts";
import { limitsOf } from "../advice/limits.ts";
import { type Expectation, isExpected } from "../config/config.ts";
import { beginningOf } from "../exchange/excerpt.ts";
import type { AnswerHead, Exchange, WithoutKeys } from "../exchange/exchange.ts";
import { type JsonBody, MOST_LEVELS, readJson } from "../exchange/json-body.ts";
import { OK, outcomeOf, type PollOutcome } from "../exchange/outcome.ts";
import type { Reason } from "../exchange/reasons.ts";
import type { Part, StreamRead } from "../exchange/stream.ts";
import { type Facts, NO_FACTS } from "../refusal/facts.ts";
import { recogniseInJson } from "../refusal/envelope.ts";
import { factsOfAnswer, recognise, recogniseInText, ruleFor } from "../refusal/recognise.ts";
import { wallHeader } from "../refusal/walls.ts";
import { type Looks, unmetInBody, unmetInHeaders } from "./assertions.ts";
import { type Checks, NO_CHECKS } from "./checks.ts";
import { askedWait, withRequestedPause } from "./requested-pause.ts";
import { type Recognition, SAYS, STATUS_MEANINGS } from "../refusal/rules.ts";
import { counted } from "../exchange/json-value.ts";
import { oneLine } from "../text/escape.ts";
import { HOUR_MS, DAY_MS } from "../time/duration.ts";

type Answered = Extract<Exchange, { readonly kind: "answered" }>;

type Question = {
  readonly exchange: Exchange;
  readonly expect: Expectation;
  readonly told: ToldByHeaders | undefined;
  readonly withoutKeys: WithoutKeys;
  readonly json: (of?: Part) => JsonBody;
  readonly facts: () => Facts;
  readonly checks: Checks;
};

type Classification = {
  readonly outcome: PollOutcome;
  /** One sentence for people, escaped and capped. */
  readonly detail: string;
  /** The words by which a refusal was recognised: a piece of the answer, for nobody but `explain`. */
  readonly words?: string;
};

export type Judgement = Classification & {
  /** What it asks of us. Undefined where no head came. */
  readonly advice: Advice | undefined;
  /** Its body, or a part of a stream, parsed once however many ask, and only if anybody does. */
  readonly json: (of?: Part) => JsonBody;
};

/** `told`: what the head tells of limits, if one came. */
export function judgeExchange(
  exchange: Exchange,
  expect: Expectation,
  told: ToldByHeaders | undefined,
  withoutKeys: WithoutKeys,
  checks: Checks = NO_CHECKS,
): Judgement {
  const read = new Map<Part, JsonBody>();
  const json = (of: Part = "last"): JsonBody => {
    const known = read.get(of) ?? readJson(partOf(exchange, of));
    read.set(of, known);
    return known;
  };
  const facts = once((): Facts =>
    exchange.kind === "broken" ? NO_FACTS : factsOfAnswer(exchange.head, exchange.body, json),
  );
  const question = { exchange, expect, told, withoutKeys, json, facts, checks };
  const classification = classify(question);
  const advice = told && withRequestedPause(told, classification.outcome, facts);
  return { ...classification, advice, json };
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const NOTHING = new Uint8Array();

/** An answer that is no stream has no parts. */
function partOf(exchange: Exchange, of: Part): Uint8Array {
  if (exchange.kind === "broken") return NOTHING;
  const { stream, body } = exchange;
  return stream === undefined || of === "last" ? body : (stream[of] ?? NOTHING);
}

const BEGINNING_CHARACTERS = 40;

const NO_CONTENT_STATUSES: ReadonlySet<number> = new Set([204, 304]);

function because(reason: Reason, detail: string): Classification {
  return { outcome: outcomeOf(reason), detail };
}

/** The meaning of a refusal as the outcome of a poll. */
function refused(status: number, { means, says, by, words }: Recognition): Classification {
  const evidence = by === undefined ? "" : `, by ${by}`;
  const detail = `answered ${status}: ${says}${evidence}`;
  return { outcome: outcomeOf(means), detail, ...(words === undefined ? {} : { words }) };
}

/** The limits and waits that are told beside a refusal may say more of it; undefined where they do not. */
function refusedByLimits(
  status: number,
  recognition: Recognition,
  { told, facts }: Question,
): Classification | undefined {
  if (told === undefined) return undefined;
  const { means, isVague } = recognition;
  const { exhaustedPerMs = 0, families } = told.advice;
  // A spent window of a day or longer says nothing of credit, and yet no minute helps.
  if (means === "rate" && exhaustedPerMs >= DAY_MS)
    return because(
      "quota",
      `answered ${status}: the quota of ${Math.round(exhaustedPerMs / HOUR_MS)} h is spent`,
    );
  if (status !== 429 || means !== "quota" || isVague !== true) return undefined;
  // A vague "quota exceeded" is a rate if no limit but short ones is told, or the wait is short.
  const limits = limitsOf(families);
  const areShort = limits.length > 0 && limits.every(({ perMs }) => perMs !== undefined && perMs < DAY_MS);
  const { waitMs = Infinity } = askedWait(told, outcomeOf(means), facts);
  return areShort || waitMs < HOUR_MS
    ? refused(status, { ...recognition, means: "rate", says: SAYS.rate })
    : undefined;
}

function classifyByClass(status: number, expect: Expectation): Classification {
  if (status >= 300 && status < 400)
    return because("redirect", `answered ${status}: no redirect is followed`);
  if (status >= 400 && status < 500) return because("client_error", `answered ${status}`);
  if (status >= 500 && status < 600) return because("server_error", `answered ${status}`);
  return because("unexpected_status", `answered ${status}, expected ${expect.status.join(" or ")}`);
}

/** What is wrong with a stream, whatever its events say; undefined for nothing. */
function flawOf({ end, events, bytes, first }: StreamRead): string | undefined {
  if (events === 0) return `no event came in its ${bytes} B`;
  const after = counted(end === "error" ? events - 1 : events, "event");
  if (end === "error") return `an error came after ${after} of its stream`;
  if (end === "broke_off") return `its stream ended after ${after}, without the one that ends it`;
  return first === undefined ? `its stream had ${after}, none of which counts` : undefined;
}

/** The events of a stream may speak of limits and keys. */
function isNoContent(stream: StreamRead | undefined): boolean {
  return stream === undefined || stream.events === 0 || stream.end === "error";
}

function classifyExpected(
  exchange: Answered,
  { expect, withoutKeys, json, facts, checks }: Question,
): Classification {
  const { head, body, stream } = exchange;
  const { status } = head;
  const wall = wallHeader(head);
  if (wall !== undefined) return refused(status, wall);
  const ok: Classification = {
    outcome: OK,
    detail: `answered ${status} with ${stream ? `${counted(stream.events, "event")} in ${stream.bytes} B` : `${body.length} B`}`,
  };
  const asserted = (unmet: string | undefined): Classification =>
    unmet === undefined ? ok : because("assertion", oneLine(`answered ${status}, but ${unmet}`));
  const looks: Looks = {
    json: (of) => {
      const part = json(of);
      return part.kind === "json" ? part.value : undefined;
    },
    text: (of = "last") => new TextDecoder().decode(partOf(exchange, of)),
  };
  const ofHeaders = expect.headers && unmetInHeaders(expect.headers, head.headers, checks);
  if (NO_CONTENT_STATUSES.has(status)) return asserted(ofHeaders);
  const ofBody = (): string | undefined =>
    ofHeaders ?? (expect.body && unmetInBody(expect.body, looks, withoutKeys, checks));
  const flaw = stream && flawOf(stream);
  if (!expect.json && flaw === undefined) return asserted(ofBody());
  const read = json();
  const { kind } = read;
  const recognition =
    kind === "json"
      ? recogniseInJson(head, body, read.value, facts)
      : (kind === "not_json" || kind === "empty") && isNoContent(stream)
        ? recogniseInText(head, facts())
        : undefined;
  if (recognition !== undefined) {
    const refusal = refused(status, recognition);
    return flaw === undefined ? refusal : { ...refusal, detail: `${refusal.detail}; ${flaw}` };
  }
  if (flaw !== undefined) return because("stream", `answered ${status}, but ${flaw}`);
  if (kind === "json") return asserted(ofBody());
  if (kind === "too_many")
    return because("memory", `answered ${status}, but its JSON has more values than there is memory for`);
  return because("invalid_body", `answered ${status}${flawOfBody(kind, body, withoutKeys)}`);
}

/** A health check that says so in plain text. */
const OK_IN_WORDS = /^\W{0,4}(?:ok|okay|pong|healthy|alive|up|ready|running|success|true)\W{0,8}$/i;
const OK_HINT = "; if that is how it says that it is well, set expect: { json: false }";

function flawOfBody(
  kind: "empty" | "too_deep" | "not_utf8" | "not_json",
  body: Uint8Array,
  withoutKeys: WithoutKeys,
): string {
  if (kind === "empty") return " with an empty body where JSON was expected";
  if (kind === "too_deep") return `, but its JSON nests deeper than ${MOST_LEVELS} levels`;
  if (kind === "not_utf8") return `, but its ${body.length} B are not UTF-8`;
  const beginning = withoutKeys(beginningOf(body, BEGINNING_CHARACTERS));
  const isOk = body.length <= BEGINNING_CHARACTERS && OK_IN_WORDS.test(new TextDecoder().decode(body));
  const hint = isOk ? OK_HINT : "";
  return `, but its ${body.length} B are not JSON: they begin with "${beginning}"${hint}`;
}

const NO_HEAD: AnswerHead = { status: 0, reasonPhrase: "", headers: [] };

/** Whatever an operator expects, these are refusals. */
const ALWAYS_REFUSED: ReadonlySet<number> = new Set([402, 429]);

/** A status that refuses by itself does so even if its body broke off. */
function classify(question: Question): Classification {
  const { exchange, expect, facts } = question;
  const head = exchange.head ?? NO_HEAD;
  const { status } = head;
  const isOk = isExpected(expect, status) && !ALWAYS_REFUSED.has(status);
  if (exchange.kind === "broken" && (isOk || !STATUS_MEANINGS.has(status))) {
    const after = exchange.head === undefined ? "" : `, after it had answered ${status}`;
    return because(exchange.fault, `${exchange.detail}${after}`);
  }
  const rule = expect.refusals === undefined ? undefined : ruleFor(expect.refusals, head, facts());
  if (rule !== undefined && rule.means !== "status") {
    return refused(status, { means: rule.means, says: SAYS[rule.means], by: '"expect.refusals"' });
  }
  if (isOk && rule === undefined && exchange.kind === "answered") {
    return classifyExpected(exchange, question);
  }
  const recognition = recognise(head, rule === undefined ? facts() : NO_FACTS);
  if (recognition === undefined) return classifyByClass(status, expect);
  return refusedByLimits(status, recognition, question) ?? refused(status, recognition);
}
