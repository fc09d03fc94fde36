import { judgingOf } from "../../src/app/features/judging.ts";
import { HINTS, type AnswerHints } from "../../src/features/hints/fields/answer-hints.ts";
import type { AnswerHead, Headers } from "../../src/kernel/exchange/exchange.ts";
import { judgeAnswer } from "../../src/kernel/poll/judging.ts";
import { answerOf } from "./judged.ts";

/** What an answer asks of us, all in all. */
export function answerHintsOn(status: number, headers: Headers, wallNowMs: number, body = ""): AnswerHints {
  const head: AnswerHead = { status, reasonPhrase: "", headers };
  const exchange = { kind: "answered", head, body: new TextEncoder().encode(body) } as const;
  const expect = { status: [200], json: false, maxBodyBytes: 1_048_576 };
  const { said } = judgeAnswer(answerOf(exchange, expect, String, wallNowMs), judgingOf({ expect }));
  const answerHints = HINTS.of(said);
  if (answerHints === undefined) throw new Error("the head of an answer always has hints");
  return answerHints;
}
