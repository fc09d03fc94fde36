/** Numbers that an answer tells beside its outcome, such as the credit that is left. */

import type { Value } from "../config/config.ts";
import type { AnswerHead } from "../exchange/exchange.ts";
import type { JsonBody } from "../exchange/json-body.ts";
import type { PollOutcome } from "../exchange/outcome.ts";
import { valueIn } from "../exchange/place.ts";

export type SeenValue = { readonly name: string; readonly value: number };

/**
 * Those that are there. A refusal for want of credit may tell the credit too, and so may an answer that lacks what was
 * asserted; what any other failure tells is not believed. `json` is asked only if a value stands in the body.
 */
export function readValues(
  wanted: readonly Value[],
  outcome: PollOutcome,
  head: AnswerHead,
  json: () => JsonBody,
): readonly SeenValue[] {
  if (outcome.kind === "failed" && outcome.reason !== "assertion") return [];
  return wanted.flatMap(({ name, place }) => {
    const value = numberIn(valueIn(place, head, () => contentOf(json())));
    return value === undefined ? [] : [{ name, value }];
  });
}

function contentOf(body: JsonBody): unknown {
  return body.kind === "json" ? body.value : undefined;
}

/** Many providers send money as text: `"12.34"`. Neither signs of a currency nor exponents. */
const PLAIN_DECIMAL = /^-?\d{1,16}(?:\.\d{1,32})?$/;

/** Beyond that, a number in JSON is no longer exact. */
const MOST = Number.MAX_SAFE_INTEGER;

function numberIn(found: unknown): number | undefined {
  const value = typeof found === "string" && PLAIN_DECIMAL.test(found) ? Number(found) : found;
  return typeof value === "number" && Math.abs(value) <= MOST ? value : undefined;
}
