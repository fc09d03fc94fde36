/** Judges what an exchange means. No other place judges answers. */

import type { Advice, ToldByHeaders } from "../advice/advice.ts";
import { type Expectation, isExpected } from "../config/config.ts";
import { beginningOf } from "../exchange/excerpt.ts";
import type { AnswerHead, Exchange, WithoutKeys } from "../exchange/exchange.ts";
import { type JsonBody, MOST_LEVELS, readJson } from "../exchange/json-body.ts";
import { OK, outcomeOf, type PollOutcome } from "../exchange/outcome.ts";
import type { Reason } from "../exchange/reasons.ts";
import { type Facts, NO_FACTS } from "../refusal/facts.ts";
import { recogniseInJson } from "../refusal/envelope.ts";
import { factsOfAnswer, recognise, recogniseInText, ruleFor } from "../refusal/recognise.ts";
import { wallHeader } from "../refusal/walls.ts";
import { unmetInBody, unmetInHeaders } from "./assertions.ts";
import { withRequestedPause } from "./requested-pause.ts";
import { type Recognition, SAYS } from "../refusal/rules.ts";
import { type Matcher, NO_MATCHER } from "../text/matcher.ts";
import { oneLine } from "../text/escape.ts";
import { HOUR_MS, DAY_MS } from "../time/duration.ts";

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
  /** Its body, parsed once however many ask, and only if anybody does. */
  readonly json: () => JsonBody;
};

/** `told`: what the head tells of limits, if one came. */
export function judgeExchange(
  exchange: Exchange,
  expect: Expectation,
  told: ToldByHeaders | undefined,
  withoutKeys: WithoutKeys,
  matcher: Matcher = NO_MATCHER,
): Judgement {
  const json = once((): JsonBody =>
    exchange.kind === "broken" ? { kind: "empty" } : readJson(exchange.body),
  );
  const facts = once((): Facts =>
    exchange.kind === "broken" ? NO_FACTS : factsOfAnswer(exchange.head, exchange.body, json),
  );
  const classification = classify(exchange, expect, told?.advice, withoutKeys, json, facts, matcher);
  const advice = told && withRequestedPause(told, classification.outcome, facts);
  return { ...classification, advice, json };
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
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

/** A 429 whose spent window is that of a day or longer says nothing of credit, and yet no minute helps. */
function longQuota(
  status: number,
  recognition: Recognition,
  advice: Advice | undefined,
): Classification | undefined {
  const windowMs = advice?.exhaustedPerMs ?? 0;
  if (recognition.means !== "rate" || windowMs < DAY_MS) return undefined;
  return because("quota", `answered ${status}: the quota of ${Math.round(windowMs / HOUR_MS)} h is spent`);
}

/** A vague "quota exceeded" whose headers tell of no limit but short ones is a rate. */
function shortQuota(
  status: number,
  recognition: Recognition,
  advice: Advice | undefined,
): Classification | undefined {
  if (status !== 429 || recognition.means !== "quota" || recognition.isVague !== true) return undefined;
  const limits = advice?.limits ?? [];
  const areShort = limits.every(({ perMs }) => perMs !== undefined && perMs < DAY_MS);
  return limits.length > 0 && areShort
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

function classifyExpected(
  head: AnswerHead,
  body: Uint8Array,
  expect: Expectation,
  withoutKeys: WithoutKeys,
  facts: () => Facts,
  json: () => JsonBody,
  matcher: Matcher,
): Classification {
  const { status } = head;
  const wall = wallHeader(head);
  if (wall !== undefined) return refused(status, wall);
  const ok: Classification = {
    outcome: OK,
    detail: `answered ${status} with ${body.length} B`,
  };
  const asserted = (unmet: string | undefined): Classification =>
    unmet === undefined ? ok : because("assertion", oneLine(`answered ${status}, but ${unmet}`));
  const ofHeaders = expect.headers && unmetInHeaders(expect.headers, head.headers, matcher);
  if (NO_CONTENT_STATUSES.has(status)) return asserted(ofHeaders);
  if (!expect.json)
    return asserted(
      ofHeaders ?? (expect.body && unmetInBody(expect.body, undefined, body, withoutKeys, matcher)),
    );
  const read = json();
  const { kind } = read;
  if (kind === "json") {
    const recognition = recogniseInJson(head, body, read.value, facts);
    if (recognition !== undefined) return refused(status, recognition);
    return asserted(
      ofHeaders ?? (expect.body && unmetInBody(expect.body, read.value, body, withoutKeys, matcher)),
    );
  }
  const recognition =
    kind === "not_json" || kind === "empty" ? recogniseInText(head, body, facts()) : undefined;
  if (recognition !== undefined) return refused(status, recognition);
  switch (kind) {
    case "empty":
      return because("invalid_body", `answered ${status} with an empty body where JSON was expected`);
    case "too_deep":
      return because(
        "invalid_body",
        `answered ${status}, but its JSON nests deeper than ${MOST_LEVELS} levels`,
      );
    case "too_many":
      return because("memory", `answered ${status}, but its JSON has more values than there is memory for`);
    case "not_utf8":
      return because("invalid_body", `answered ${status}, but its ${body.length} B are not UTF-8`);
    case "not_json": {
      const beginning = withoutKeys(beginningOf(body, BEGINNING_CHARACTERS));
      const sentence = `answered ${status}, but its ${body.length} B are not JSON`;
      return because("invalid_body", `${sentence}: they begin with "${beginning}"`);
    }
    default:
      return kind satisfies never;
  }
}

const NO_HEAD: AnswerHead = { status: 0, reasonPhrase: "", headers: [] };

/** Whatever an operator expects, these are refusals. */
const ALWAYS_REFUSED: ReadonlySet<number> = new Set([402, 429]);

/** A 429 or 402 is a refusal even if its body broke off, and whatever the config expects. */
function classify(
  exchange: Exchange,
  expect: Expectation,
  advice: Advice | undefined,
  withoutKeys: WithoutKeys,
  json: () => JsonBody,
  facts: () => Facts,
  matcher: Matcher,
): Classification {
  if (exchange.kind === "broken" && !ALWAYS_REFUSED.has(exchange.head?.status ?? 0)) {
    const after = exchange.head === undefined ? "" : `, after it had answered ${exchange.head.status}`;
    return because(exchange.fault, `${exchange.detail}${after}`);
  }
  const head = exchange.head ?? NO_HEAD;
  const { status } = head;
  const rule = expect.refusals === undefined ? undefined : ruleFor(expect.refusals, head, facts());
  if (rule !== undefined && rule.means !== "status") {
    return refused(status, { means: rule.means, says: SAYS[rule.means], by: "`expect.refusals`" });
  }
  const isOk = isExpected(expect, status) && !ALWAYS_REFUSED.has(status);
  if (isOk && rule === undefined && exchange.kind === "answered") {
    return classifyExpected(head, exchange.body, expect, withoutKeys, facts, json, matcher);
  }
  const recognition = recognise(head, rule === undefined ? facts() : NO_FACTS);
  if (recognition === undefined) return classifyByClass(status, expect);
  return (
    longQuota(status, recognition, advice) ??
    shortQuota(status, recognition, advice) ??
    refused(status, recognition)
  );
}
