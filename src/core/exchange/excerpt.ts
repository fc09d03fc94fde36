import { oneLine } from "../text/escape.ts";
import type { Exchange } from "./exchange.ts";

/** UTF-8 takes at most so many bytes for what JavaScript counts as one character. */
const MOST_BYTES_A_CHARACTER = 3;

/** The beginning of a body, for people: one line, escaped; bytes that are no text show as such. */
export function beginningOf(body: Uint8Array, maxLength: number): string {
  const enough = body.subarray(0, (maxLength + 4) * MOST_BYTES_A_CHARACTER);
  // As a stream, so that a character that the cut goes through is left out.
  const text = new TextDecoder().decode(enough, { stream: enough.length < body.length });
  return oneLine(text, [], maxLength);
}

/** A short look at what was answered; undefined where no body came, or an empty one. */
export function excerptOf(exchange: Exchange, maxLength: number): string | undefined {
  if (exchange.kind === "broken" || exchange.body.length === 0) return undefined;
  return beginningOf(exchange.body, maxLength);
}
