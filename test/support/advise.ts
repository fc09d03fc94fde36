import type { Advice } from "../../src/core/advice/advice.ts";
import type { AnswerHead, Headers } from "../../src/core/exchange/exchange.ts";
import { classify, factsOnce, jsonOnce } from "../../src/core/poll/classify.ts";
import { withRequestedPause } from "../../src/core/poll/requested-pause.ts";
import { adviceIn } from "../../src/engine/poll/advice-in.ts";

/** What an answer asks of us, all in all. */
export function adviseOn(status: number, headers: Headers, wallNowMs: number, body = ""): Advice {
  const head: AnswerHead = { status, reasonPhrase: "", headers };
  const exchange = { kind: "answered", head, body: new TextEncoder().encode(body) } as const;
  const told = adviceIn(head, wallNowMs);
  const json = jsonOnce(exchange);
  const facts = factsOnce(exchange, json);
  const expectation = { status: [200], json: false, maxBodyBytes: 1_048_576 };
  const { outcome } = classify(exchange, expectation, told.advice, String, json, facts);
  return withRequestedPause(told, outcome, facts);
}
