import { judgingOf } from "../../src/app/features/judging.ts";
import type { HeaderHints } from "../../src/features/hints/fields/answer-hints.ts";
import type { Expectation } from "../../src/kernel/config/config.ts";
import type { Exchange, WithoutKeys } from "../../src/kernel/exchange/exchange.ts";
import { Answer } from "../../src/kernel/poll/answer.ts";
import { judgeAnswer, type Libraries } from "../../src/kernel/poll/judging.ts";
import { refusalsBy } from "../../src/features/refusals/judging.ts";

export function answerOf(
  exchange: Exchange,
  expect: Expectation,
  withoutKeys: WithoutKeys = String,
  endedAtMs = 0,
): Answer {
  const observation = {
    exchange,
    durationMs: 10,
    phasesMs: {},
    withoutKeys,
    certificateExpiresAtMs: undefined,
  };
  return new Answer({ expect }, observation, endedAtMs);
}

const STREAM = { format: "sse", ends: "end", atMost: 64 } as const;

/** As if its headers told this of limits; of a stream where it is one. */
export function judgeExchange(
  exchange: Exchange,
  expect: Expectation,
  told?: HeaderHints,
  withoutKeys?: WithoutKeys,
  libraries?: Libraries,
): ReturnType<typeof judgeAnswer> & { readonly answer: Answer } {
  const answer = answerOf(exchange, expect, withoutKeys);
  const { judges, remarks } = judgingOf({ expect, stream: STREAM }, libraries);
  const judging = { judges: [refusalsBy(() => told), ...judges.slice(1)], remarks, readers: [] };
  return { ...judgeAnswer(answer, judging), answer };
}
