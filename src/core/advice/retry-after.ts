import { plainNumberOf } from "./header-list.ts";
import type { Headers } from "../exchange/exchange.ts";
import { parseHttpDate } from "../time/http-date.ts";

/** The standard header, and the finer ones that some gateways add. */
const UNITS_MS: Readonly<Partial<Record<string, number>>> = {
  "retry-after": 1000,
  "retry-after-ms": 1,
  "x-ms-retry-after-ms": 1,
};

/**
 * A fraction is not in the standard, but its meaning is clear. Any length is accepted: a number here is never a
 * timestamp, and the caller has its own cap.
 */
function waitMsOf(text: string, unitMs: number, anchorMs: number): number | undefined {
  const number = plainNumberOf(text);
  if (number !== undefined) return Math.ceil(number * unitMs);
  if (unitMs !== 1000) return undefined;
  const dateMs = parseHttpDate(text, anchorMs);
  return dateMs === undefined ? undefined : Math.max(0, Math.ceil(dateMs - anchorMs));
}

export type RetryAfter = { readonly waitMs: number | undefined; readonly malformed: number };

/** The longest requested wait. A date in the past requests none. */
export function readRetryAfter(headers: Headers, anchorMs: number): RetryAfter {
  let waitMs: number | undefined;
  let malformed = 0;
  for (const [name, value] of headers) {
    const unitMs = Object.hasOwn(UNITS_MS, name) ? UNITS_MS[name] : undefined;
    if (unitMs === undefined) continue;
    const readMs = waitMsOf(value.trim(), unitMs, anchorMs);
    if (readMs === undefined) malformed++;
    else waitMs = Math.max(waitMs ?? 0, readMs);
  }
  return { waitMs, malformed };
}
