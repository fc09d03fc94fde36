import { isInnerList, parseList, Token, type BareItem, type InnerList, type Item } from "structured-headers";
import { readAdvice, type ToldByHeaders } from "./fields/advice.ts";
import type { StructuredItem } from "./fields/structured-fields.ts";
import type { AnswerHead, WithoutKeys } from "../../kernel/exchange/exchange.ts";
import { type Look, look } from "../../kernel/poll/answer.ts";

/** Reads what the headers of an answer say about limits and waiting. Whatever is not a list of RFC 9651 is none to core. */
export function adviceIn(head: AnswerHead, wallNowMs: number, withoutKeys: WithoutKeys): ToldByHeaders {
  return readAdvice(head, wallNowMs, parseStructuredList, withoutKeys);
}

/** Nothing where no head came. */
export const toldByHeaders: Look<ToldByHeaders | undefined> = look(
  "told",
  ({ exchange: { head }, endedAtMs, withoutKeys }) => head && adviceIn(head, endedAtMs, withoutKeys),
);

/** Parses an RFC 9651 List of Strings or Tokens; undefined for anything else. */
export function parseStructuredList(text: string): readonly StructuredItem[] | undefined {
  try {
    const items: StructuredItem[] = [];
    for (const member of parseList(text)) {
      const item = itemOf(member);
      if (item === undefined) return undefined;
      items.push(item);
    }
    return items;
  } catch {
    // The library throws on invalid input, and not only its own errors.
    return undefined;
  }
}

function itemOf(member: Item | InnerList): StructuredItem | undefined {
  if (isInnerList(member)) return undefined;
  const [value, parameters] = member;
  const name = value instanceof ArrayBuffer ? undefined : textOf(value);
  if (name === undefined) return undefined;
  const readable = new Map<string, string | number | boolean>();
  for (const [key, parameter] of parameters) {
    const plain =
      typeof parameter === "number" || typeof parameter === "boolean" ? parameter : textOf(parameter);
    if (plain !== undefined) readable.set(key, plain);
  }
  return { name, parameters: readable };
}

function textOf(value: BareItem): string | undefined {
  if (typeof value === "string") return value;
  if (value instanceof ArrayBuffer) return btoa(String.fromCharCode(...new Uint8Array(value)));
  return value instanceof Token ? value.toString() : undefined;
}
