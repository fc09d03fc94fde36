import { judgingOf } from "../../src/app/features/judging.ts";
import { ADVICE, type Advice } from "../../src/features/hints/fields/advice.ts";
import type { AnswerHead, Headers } from "../../src/kernel/exchange/exchange.ts";
import { judgeAnswer } from "../../src/kernel/poll/judging.ts";
import { answerOf } from "./judged.ts";

/** What an answer asks of us, all in all. */
export function adviseOn(status: number, headers: Headers, wallNowMs: number, body = ""): Advice {
  const head: AnswerHead = { status, reasonPhrase: "", headers };
  const exchange = { kind: "answered", head, body: new TextEncoder().encode(body) } as const;
  const expect = { status: [200], json: false, maxBodyBytes: 1_048_576 };
  const { said } = judgeAnswer(answerOf(exchange, expect, String, wallNowMs), judgingOf({ expect }));
  const advice = ADVICE.of(said);
  if (advice === undefined) throw new Error("the head of an answer always advises");
  return advice;
}
