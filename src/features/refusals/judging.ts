/** Judges an answer that refuses us: by its operator's rules, by all that it says, and by the limits that it tells. */

import type { HeaderHints } from "../hints/fields/answer-hints.ts";
import { limitsOf } from "../hints/fields/limits.ts";
import { outcomeOf, type PollOutcome } from "../../kernel/exchange/outcome.ts";
import { classifyJson } from "./envelope.ts";
import { type Facts, NO_FACTS } from "./facts.ts";
import { factsOfAnswer, classifyRefusal, classifyText, ruleFor } from "./classify.ts";
import { type Classification, SAYS, STATUS_MEANINGS } from "./rules.ts";
import { botWallHeader } from "./bot-walls.ts";
import { DAY_MS, HOUR_MS } from "../../kernel/time/duration.ts";
import { type Answer, type Find, foundOnce } from "../../kernel/poll/answer.ts";
import { flawOf, hasNoContent, saysOfLimits } from "../../kernel/poll/classify.ts";
import { type Judge, type Judgement, judgement } from "../../kernel/poll/judging.ts";
import { type AskedWait, longerWait } from "../hints/fields/retry-after.ts";
import { readTimeFields, readTimesInWords } from "./waits.ts";

const factsIn: Find<Facts> = foundOnce("facts", (answer) => {
  const { exchange } = answer;
  return exchange.kind === "broken"
    ? NO_FACTS
    : factsOfAnswer(exchange.head, exchange.body, () => answer.json());
});

/** For how long the body of an answer that is not good asks us to wait. */
export function waitInBody(answer: Answer, outcome: PollOutcome, anchorMs: number): AskedWait {
  const asked = readTimeFields(factsIn(answer), anchorMs);
  return isAboutTime(outcome) ? longerWait(asked, readTimesInWords(factsIn(answer), anchorMs)) : asked;
}

/** In any other refusal, a time in its words is about something else: when a key expired, how old a page is. */
function isAboutTime(outcome: PollOutcome): boolean {
  return outcome.kind === "throttled" || outcome.reason === "server_error" || outcome.reason === "blocked";
}

/** A status that refuses by itself does so even if its body broke off. */
export function refusalsBy(hintsIn: Find<HeaderHints | undefined>): Judge {
  return (answer) => {
    const { exchange, upstream, head, isExpected } = answer;
    const { status } = head;
    if (exchange.kind === "broken" && (isExpected || !STATUS_MEANINGS.has(status))) return undefined;
    const { refusals } = upstream.expect;
    const rule = refusals && ruleFor(refusals, head, factsIn(answer));
    if (rule !== undefined && rule.means !== "status") {
      return refused(status, { means: rule.means, says: SAYS[rule.means], by: '"expect.refusals"' });
    }
    if (isExpected) return rule === undefined ? refusedAsExpected(answer) : undefined;
    const classification = classifyRefusal(head, rule === undefined ? factsIn(answer) : NO_FACTS);
    if (classification === undefined) return undefined;
    return refusedByLimits(classification, answer, hintsIn(answer)) ?? refused(status, classification);
  };
}

/** A refusal with the status of a good answer. Where no JSON is expected, a body may say anything. */
function refusedAsExpected(answer: Answer): Judgement | undefined {
  const { head, upstream } = answer;
  const botWall = botWallHeader(head);
  if (botWall !== undefined) return refused(head.status, botWall);
  if (hasNoContent(answer) || (!upstream.expect.json && flawOf(answer) === undefined)) return undefined;
  const read = answer.json();
  const facts = (): Facts => factsIn(answer);
  const classification =
    read.kind === "json"
      ? classifyJson(head, answer.bytes(), read.value, facts)
      : (read.kind === "not_json" || read.kind === "empty") && saysOfLimits(answer)
        ? classifyText(head, facts())
        : undefined;
  return classification && refused(head.status, classification);
}

/** The meaning of a refusal as the outcome of a poll. */
function refused(status: number, { means, says, by, words }: Classification): Judgement {
  const evidence = by === undefined ? "" : `, by ${by}`;
  const detail = `answered ${status}: ${says}${evidence}`;
  return { outcome: outcomeOf(means), detail, ...(words === undefined ? {} : { words }) };
}

/** The limits and waits that are told beside a refusal may say more of it; undefined where they do not. */
function refusedByLimits(
  classification: Classification,
  answer: Answer,
  told: HeaderHints | undefined,
): Judgement | undefined {
  if (told === undefined) return undefined;
  const { status } = answer.head;
  const { means, isVague } = classification;
  const { exhaustedPerMs = 0, families } = told.hints;
  // A spent window of a day or longer says nothing of credit, and yet no minute helps.
  if (means === "rate" && exhaustedPerMs >= DAY_MS)
    return judgement(
      "quota",
      `answered ${status}: the quota of ${Math.round(exhaustedPerMs / HOUR_MS)} h is spent`,
    );
  if (status !== 429 || means !== "quota" || isVague !== true) return undefined;
  // A vague "quota exceeded" is a rate if no limit but short ones is told, or the wait is short.
  const limits = limitsOf(families);
  const areShort = limits.length > 0 && limits.every(({ perMs }) => perMs !== undefined && perMs < DAY_MS);
  const inBody = waitInBody(answer, outcomeOf(means), told.anchorMs());
  const { waitMs = Infinity } = longerWait(told.retryAfter, inBody);
  return areShort || waitMs < HOUR_MS
    ? refused(status, { ...classification, means: "rate", says: SAYS.rate })
    : undefined;
}
