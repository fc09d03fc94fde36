import type { Advice } from "../../src/core/advice/advice.ts";
import type { AnswerHead, Headers } from "../../src/core/exchange/exchange.ts";
import { judgeExchange } from "../../src/core/poll/classify.ts";
import { adviceIn } from "../../src/engine/poll/advice-in.ts";

/** What an answer asks of us, all in all. */
export function adviseOn(status: number, headers: Headers, wallNowMs: number, body = ""): Advice {
  const head: AnswerHead = { status, reasonPhrase: "", headers };
  const exchange = { kind: "answered", head, body: new TextEncoder().encode(body) } as const;
  const expectation = { status: [200], json: false, maxBodyBytes: 1_048_576 };
  const { advice } = judgeExchange(exchange, expectation, adviceIn(head, wallNowMs, String), String);
  if (advice === undefined) throw new Error("the head of an answer always advises");
  return advice;
}
