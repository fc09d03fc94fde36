import type { Auth } from "../config/config.ts";
import { type AnswerHead, headerValue } from "../exchange/exchange.ts";
import { parseHttpDate } from "../time/http-date.ts";
import { formatDuration } from "../time/duration.ts";

/** A signature of another time is refused. Five minutes are allowed, and an answer is a moment on its way. */
const MOST_SKEW_MS = 4 * 60_000;

/** To be said of an answer that refuses a signature: it may be our own clock that is wrong. Empty where it is not. */
export function clockSkewIn(auth: Auth, head: AnswerHead | undefined, nowMs: number): string {
  if (auth.kind !== "aws" || head === undefined || head.status < 400 || head.status >= 500) return "";
  const theirsMs = parseHttpDate(headerValue(head.headers, "date") ?? "", nowMs);
  const skewMs = theirsMs === undefined ? 0 : nowMs - theirsMs;
  if (Math.abs(skewMs) <= MOST_SKEW_MS) return "";
  const skew = formatDuration(Math.round(Math.abs(skewMs) / 1_000) * 1_000);
  return `: our clock is ${skew} ${skewMs > 0 ? "ahead" : "behind"}, and a signature of another time is refused`;
}
