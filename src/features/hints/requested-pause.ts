/** An answer asks for a pause: for how long, and of whom, is known once it is known what the answer means. */

import { HINTS, type AnswerHints, type HeaderHints } from "./fields/answer-hints.ts";
import type { Pause } from "../../kernel/poll/ports.ts";
import { longerWait, type AskedWait } from "./fields/retry-after.ts";
import type { PollOutcome } from "../../kernel/exchange/outcome.ts";
import type { Answer, Find } from "../../kernel/poll/answer.ts";
import type { Reader } from "../../kernel/poll/reader.ts";

/** Somebody adds credit at any moment, and to look costs nothing: so neither the budget's own back-off nor an hour. */
const CREDIT_PAUSE: Pause = { scope: "budget", forMs: 300_000, source: "credit_spent" };

/** A refusal with less than this part of a limit left is about that limit, even if it was counted in other units. */
const NEARLY_SPENT = 0.01;

/** Nothing where no head came. */
export function answerHintsReader(
  told: Find<HeaderHints | undefined>,
  waitInBody: (answer: Answer, outcome: PollOutcome, anchorMs: number) => AskedWait,
): Reader<AnswerHints> {
  return {
    ...HINTS,
    read: ({ answer, outcome }) => {
      const inHeaders = told(answer);
      return (
        inHeaders &&
        withRequestedPause(inHeaders, outcome, (anchorMs) => waitInBody(answer, outcome, anchorMs))
      );
    },
  };
}

/**
 * Adds the pause that an answer asks for: whoever says when is not asked before.
 */
function withRequestedPause(
  inHeaders: HeaderHints,
  outcome: PollOutcome,
  waitInBody: (anchorMs: number) => AskedWait,
): AnswerHints {
  const { status, hints, isHeldBack, retryAfter, anchorMs } = inHeaders;
  if (outcome.kind === "ok" && !isHeldBack) return { ...hints, throttled: false };
  // The body is read only of an answer that is not good.
  const asked = outcome.kind === "ok" ? retryAfter : longerWait(retryAfter, waitInBody(anchorMs()));
  const told = { ...hints, malformed: hints.malformed + asked.malformed };
  const { waitMs } = asked;
  const pauseOf = (scope: Pause["scope"]): Pause | undefined =>
    waitMs === undefined ? undefined : { scope, forMs: waitMs, source: "retry_after" };
  if (outcome.kind === "throttled") {
    const pause = longestPause(pauseOf("budget"), hints.pause);
    const isRequested = pause !== undefined && (pause.forMs > 0 || outcome.reason === "rate");
    const otherwise = outcome.reason === "quota" ? CREDIT_PAUSE : resetPause(hints);
    return { ...told, throttled: true, pause: isRequested ? pause : otherwise };
  }
  // A bot wall that says 429 and when counts our requests, and has its own page for it: all who use the key wait.
  const isCounted = status === 429 && waitMs !== undefined;
  const pause = pauseOf(outcome.kind === "ok" || isCounted ? "budget" : "upstream");
  return { ...told, throttled: isCounted, pause: pause ?? hints.pause };
}

/**
 * Where an answer neither refuses nor asks for a wait, and only tells that nothing is left, we look again after
 * `mostMs`: it may be wrong, and nobody else would notice.
 */
export function lookingAgain(hints: AnswerHints, mostMs: number): AnswerHints {
  const { throttled, pause, remaining } = hints;
  if (throttled || pause?.source === "retry_after") return hints;
  const { resetMs } = remaining ?? {};
  return {
    ...hints,
    pause: pause && { ...pause, forMs: Math.min(pause.forMs, mostMs) },
    remaining: remaining && { ...remaining, resetMs: resetMs && Math.min(resetMs, mostMs) },
  };
}

function longestPause(a: Pause | undefined, b: Pause | undefined): Pause | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.forMs > a.forMs ? b : a;
}

function resetPause({ families, onlyResetMs }: AnswerHints): Pause | undefined {
  const resetsMs = families.flatMap(({ limit, remaining, resetMs }) =>
    limit !== undefined && remaining !== undefined && remaining <= NEARLY_SPENT * limit ? [resetMs ?? 0] : [],
  );
  const forMs = resetsMs.reduce((a, b) => Math.max(a, b), onlyResetMs ?? 0);
  return forMs > 0 ? { scope: "budget", forMs, source: "rate_limit" } : undefined;
}
