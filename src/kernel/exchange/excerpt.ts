/** The part of an answer that was not ok which people are shown. */

import { oneLine } from "../text/escape.ts";
import type { Exchange, WithoutKeys } from "./exchange.ts";

/** UTF-8 takes at most so many bytes for one UTF-16 unit. */
const MOST_BYTES_A_CHARACTER = 3;

const UTF8 = new TextDecoder();

/** The beginning of a body, for people: one line, escaped; invalid bytes are replaced. */
export function beginningOf(body: Uint8Array, maxLength: number): string {
  // A character that is cut in half here is past the end of the line.
  const enough = body.subarray(0, (maxLength + 4) * MOST_BYTES_A_CHARACTER);
  return oneLine(UTF8.decode(enough), maxLength);
}

/** The beginning of an answer's body; undefined without one. */
export function excerptOf(
  exchange: Exchange,
  maxLength: number,
  withoutKeys: WithoutKeys,
): string | undefined {
  if (exchange.kind === "broken" || exchange.body.length === 0) return undefined;
  return withoutKeys(beginningOf(exchange.body, maxLength));
}
