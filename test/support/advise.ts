import { parseStructuredList } from "../../src/adapters/structured-headers.ts";
import { type Advice, readAdvice } from "../../src/core/advice/advice.ts";
import type { AnswerHead, Headers } from "../../src/core/exchange/exchange.ts";
import { classify, factsOnce, jsonOnce } from "../../src/core/poll/classify.ts";
import { obey } from "../../src/core/poll/obey.ts";

/** What an answer asks of us, all in all. */
export function adviseOn(status: number, headers: Headers, wallNowMs: number, body = ""): Advice {
  const head: AnswerHead = { status, reasonPhrase: "", headers };
  const exchange = { kind: "answered", head, body: new TextEncoder().encode(body) } as const;
  const limits = readAdvice(head, wallNowMs, parseStructuredList);
  const json = jsonOnce(exchange);
  const facts = factsOnce(exchange, json);
  const expectation = { status: [200], json: false, maxBodyBytes: 1_048_576 };
  return obey(
    head,
    limits,
    classify(exchange, expectation, limits, String, json, facts).outcome,
    facts,
    wallNowMs,
  );
}
