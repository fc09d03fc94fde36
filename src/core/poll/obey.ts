/** Who says when is obeyed: the pause that an answer asks for, once it is known what the answer means. */

import type { Advice, Pause } from "../advice/advice.ts";
import { longestWait, readRetryAfter, type Wait } from "../advice/retry-after.ts";
import { type AnswerHead, headerValue } from "../exchange/exchange.ts";
import type { PollOutcome } from "../exchange/outcome.ts";
import type { Facts } from "../refusal/facts.ts";
import { readTimeFields, readTimesInWords } from "../refusal/waits.ts";
import { parseHttpDate } from "../time/http-date.ts";

/** Somebody adds credit at any moment, and to look costs nothing: so neither the budget's own back-off nor an hour. */
const CREDIT_PAUSE: Pause = { scope: "budget", forMs: 300_000, source: "credit_spent" };

/** A refusal with less than this part of a limit left is about that limit, even if it was counted in other units. */
const NEARLY_SPENT = 0.01;

/** `facts` is asked only of a refusal. */
export function obey(
  head: AnswerHead,
  advice: Advice,
  outcome: PollOutcome,
  facts: () => Facts,
  wallNowMs: number,
): Advice {
  if (outcome.kind === "ok" && !isDelayed(head))
    return advice.throttled ? { ...advice, throttled: false } : advice;
  const throttled = outcome.kind === "throttled";
  // Moments are in the upstream's clock, which its Date header gives.
  const anchorMs = parseHttpDate(headerValue(head.headers, "date") ?? "", wallNowMs) ?? wallNowMs;
  const asked =
    outcome.kind === "ok"
      ? readRetryAfter(head.headers, anchorMs)
      : askedWait(head, outcome, facts(), anchorMs);
  const said = { throttled, malformed: advice.malformed + asked.malformed };
  const { waitMs } = asked;
  if (!throttled) {
    // A wall that says 429 and when counts our requests, and has its own page for it: all who use the key wait.
    const isCounted = head.status === 429 && waitMs !== undefined;
    const scope = outcome.kind === "ok" || isCounted ? "budget" : "upstream";
    return {
      ...advice,
      ...said,
      throttled: isCounted,
      pause: waitMs === undefined ? advice.pause : { scope, forMs: waitMs, source: "retry_after" },
    };
  }
  const pause = longestPause(
    waitMs === undefined ? undefined : { scope: "budget", forMs: waitMs, source: "retry_after" },
    advice.pause,
  );
  if (pause !== undefined && (pause.forMs > 0 || outcome.throttle === "rate"))
    return { ...advice, ...said, pause };
  return {
    ...advice,
    ...said,
    pause: outcome.throttle === "quota" ? CREDIT_PAUSE : resetPause(advice),
  };
}

/** A good answer with this header was held back: for the next one it asks the wait that its Retry-After says. */
function isDelayed(head: AnswerHead): boolean {
  return head.headers.some((header) => header[0] === "x-ratelimit-delay" && Number(header[1]) > 0);
}

function askedWait(head: AnswerHead, outcome: PollOutcome, facts: Facts, anchorMs: number): Wait {
  const asked = longestWait(readRetryAfter(head.headers, anchorMs), readTimeFields(facts, anchorMs));
  return isAboutTime(outcome) ? longestWait(asked, readTimesInWords(facts, anchorMs)) : asked;
}

/** Of any other refusal, a time in its words is about something else: when a key expired, how old a page is. */
function isAboutTime(outcome: PollOutcome): boolean {
  return (
    outcome.kind === "throttled" ||
    (outcome.kind === "failed" && (outcome.reason === "server_error" || outcome.reason === "blocked"))
  );
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
