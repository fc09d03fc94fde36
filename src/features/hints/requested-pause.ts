/** An answer asks for a pause: for how long, and of whom, is known once it is known what the answer means. */

import { ADVICE, type Advice, type ToldByHeaders } from "./fields/advice.ts";
import type { Pause } from "../../kernel/poll/ports.ts";
import { longerWait, type AskedWait } from "./fields/retry-after.ts";
import type { PollOutcome } from "../../kernel/exchange/outcome.ts";
import type { Facts } from "../refusals/facts.ts";
import { readTimeFields, readTimesInWords } from "../refusals/waits.ts";
import type { Look } from "../../kernel/poll/answer.ts";
import type { Reader } from "../../kernel/poll/reader.ts";

/** Somebody adds credit at any moment, and to look costs nothing: so neither the budget's own back-off nor an hour. */
const CREDIT_PAUSE: Pause = { scope: "budget", forMs: 300_000, source: "credit_spent" };

/** A refusal with less than this part of a limit left is about that limit, even if it was counted in other units. */
const NEARLY_SPENT = 0.01;

/** Nothing where no head came. */
export function adviceBy(told: Look<ToldByHeaders | undefined>, facts: Look<Facts>): Reader<Advice> {
  return {
    ...ADVICE,
    read: ({ answer, outcome }) => {
      const inHeaders = told(answer);
      return inHeaders && withRequestedPause(inHeaders, outcome, () => facts(answer));
    },
  };
}

/**
 * Adds the pause that an answer asks for: whoever says when is not asked before.
 */
function withRequestedPause(inHeaders: ToldByHeaders, outcome: PollOutcome, facts: () => Facts): Advice {
  const { status, advice, isHeldBack } = inHeaders;
  if (outcome.kind === "ok" && !isHeldBack) return { ...advice, throttled: false };
  const asked = askedWait(inHeaders, outcome, facts);
  const told = { ...advice, malformed: advice.malformed + asked.malformed };
  const { waitMs } = asked;
  const pauseOf = (scope: Pause["scope"]): Pause | undefined =>
    waitMs === undefined ? undefined : { scope, forMs: waitMs, source: "retry_after" };
  if (outcome.kind === "throttled") {
    const pause = longestPause(pauseOf("budget"), advice.pause);
    const isRequested = pause !== undefined && (pause.forMs > 0 || outcome.reason === "rate");
    const otherwise = outcome.reason === "quota" ? CREDIT_PAUSE : resetPause(advice);
    return { ...told, throttled: true, pause: isRequested ? pause : otherwise };
  }
  // A wall that says 429 and when counts our requests, and has its own page for it: all who use the key wait.
  const isCounted = status === 429 && waitMs !== undefined;
  const pause = pauseOf(outcome.kind === "ok" || isCounted ? "budget" : "upstream");
  return { ...told, throttled: isCounted, pause: pause ?? advice.pause };
}

/**
 * Where an answer neither refuses nor asks for a wait, and only tells that nothing is left, we look again after
 * `mostMs`: it may be wrong, and nobody else would notice.
 */
export function lookingAgain(advice: Advice, mostMs: number): Advice {
  const { throttled, pause, remaining } = advice;
  if (throttled || pause?.source === "retry_after") return advice;
  const { resetMs } = remaining ?? {};
  return {
    ...advice,
    pause: pause && { ...pause, forMs: Math.min(pause.forMs, mostMs) },
    remaining: remaining && { ...remaining, resetMs: resetMs && Math.min(resetMs, mostMs) },
  };
}

/** `facts`, the body of an answer, is read only of one that is not good. */
export function askedWait(
  { retryAfter, anchorMs }: ToldByHeaders,
  outcome: PollOutcome,
  facts: () => Facts,
): AskedWait {
  if (outcome.kind === "ok") return retryAfter;
  const asked = longerWait(retryAfter, readTimeFields(facts(), anchorMs()));
  return isAboutTime(outcome) ? longerWait(asked, readTimesInWords(facts(), anchorMs())) : asked;
}

/** Of any other refusal, a time in its words is about something else: when a key expired, how old a page is. */
function isAboutTime(outcome: PollOutcome): boolean {
  return outcome.kind === "throttled" || outcome.reason === "server_error" || outcome.reason === "blocked";
}

function longestPause(a: Pause | undefined, b: Pause | undefined): Pause | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.forMs > a.forMs ? b : a;
}

function resetPause({ families, onlyResetMs }: Advice): Pause | undefined {
  const resetsMs = families.flatMap(({ limit, remaining, resetMs }) =>
    limit !== undefined && remaining !== undefined && remaining <= NEARLY_SPENT * limit ? [resetMs ?? 0] : [],
  );
  const forMs = resetsMs.reduce((a, b) => Math.max(a, b), onlyResetMs ?? 0);
  return forMs > 0 ? { scope: "budget", forMs, source: "rate_limit" } : undefined;
}
