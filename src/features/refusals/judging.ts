/** What an answer is that refuses us: by its operator's rules, by all that it says, and by the limits that it tells. */

import type { ToldByHeaders } from "../hints/fields/advice.ts";
import { limitsOf } from "../hints/fields/limits.ts";
import { outcomeOf } from "../../kernel/exchange/outcome.ts";
import { recogniseInJson } from "./envelope.ts";
import { type Facts, NO_FACTS } from "./facts.ts";
import { factsOfAnswer, recognise, recogniseInText, ruleFor } from "./recognise.ts";
import { type Recognition, SAYS, STATUS_MEANINGS } from "./rules.ts";
import { wallHeader } from "./walls.ts";
import { DAY_MS, HOUR_MS } from "../../kernel/time/duration.ts";
import { type Answer, type Look, look } from "../../kernel/poll/answer.ts";
import { flawOf, hasNoContent, saysOfLimits } from "../../kernel/poll/classify.ts";
import { type Judge, type Judgement, judgement } from "../../kernel/poll/judging.ts";
import { askedWait } from "../hints/requested-pause.ts";

export const factsIn: Look<Facts> = look("facts", (answer) => {
  const { exchange } = answer;
  return exchange.kind === "broken"
    ? NO_FACTS
    : factsOfAnswer(exchange.head, exchange.body, () => answer.json());
});

/** A status that refuses by itself does so even if its body broke off. */
export function refusalsBy(told: Look<ToldByHeaders | undefined>): Judge {
  return (answer) => {
    const { exchange, asked, head, isExpected } = answer;
    const { status } = head;
    if (exchange.kind === "broken" && (isExpected || !STATUS_MEANINGS.has(status))) return undefined;
    const { refusals } = asked.expect;
    const rule = refusals && ruleFor(refusals, head, factsIn(answer));
    if (rule !== undefined && rule.means !== "status") {
      return refused(status, { means: rule.means, says: SAYS[rule.means], by: '"expect.refusals"' });
    }
    if (isExpected) return rule === undefined ? refusedAsExpected(answer) : undefined;
    const recognition = recognise(head, rule === undefined ? factsIn(answer) : NO_FACTS);
    if (recognition === undefined) return undefined;
    return refusedByLimits(recognition, answer, told(answer)) ?? refused(status, recognition);
  };
}

/** A refusal with the status of a good answer. Where no JSON is expected, a body may say anything. */
function refusedAsExpected(answer: Answer): Judgement | undefined {
  const { head, asked } = answer;
  const wall = wallHeader(head);
  if (wall !== undefined) return refused(head.status, wall);
  if (hasNoContent(answer) || (!asked.expect.json && flawOf(answer) === undefined)) return undefined;
  const read = answer.json();
  const facts = (): Facts => factsIn(answer);
  const recognition =
    read.kind === "json"
      ? recogniseInJson(head, answer.bytes(), read.value, facts)
      : (read.kind === "not_json" || read.kind === "empty") && saysOfLimits(answer)
        ? recogniseInText(head, facts())
        : undefined;
  return recognition && refused(head.status, recognition);
}

/** The meaning of a refusal as the outcome of a poll. */
function refused(status: number, { means, says, by, words }: Recognition): Judgement {
  const evidence = by === undefined ? "" : `, by ${by}`;
  const detail = `answered ${status}: ${says}${evidence}`;
  return { outcome: outcomeOf(means), detail, ...(words === undefined ? {} : { words }) };
}

/** The limits and waits that are told beside a refusal may say more of it; undefined where they do not. */
function refusedByLimits(
  recognition: Recognition,
  answer: Answer,
  told: ToldByHeaders | undefined,
): Judgement | undefined {
  if (told === undefined) return undefined;
  const { status } = answer.head;
  const { means, isVague } = recognition;
  const { exhaustedPerMs = 0, families } = told.advice;
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
  const { waitMs = Infinity } = askedWait(told, outcomeOf(means), () => factsIn(answer));
  return areShort || waitMs < HOUR_MS
    ? refused(status, { ...recognition, means: "rate", says: SAYS.rate })
    : undefined;
}
