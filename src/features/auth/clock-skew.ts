import { headerValue } from "../../kernel/exchange/exchange.ts";
import { parseHttpDate } from "../../kernel/time/http-date.ts";
import { formatDuration } from "../../kernel/time/duration.ts";
import type { JudgingPart, Remark } from "../../kernel/poll/judging.ts";

/** A signature of another time is refused. Five minutes are allowed, and an answer is a moment on its way. */
const MOST_SKEW_MS = 4 * 60_000;

/** An answer that refuses a signature may do so as our own clock is wrong. */
const clockSkew: Remark = ({ head, endedAtMs }) => {
  if (head.status < 400 || head.status >= 500) return "";
  const theirsMs = parseHttpDate(headerValue(head.headers, "date") ?? "", endedAtMs);
  const skewMs = theirsMs === undefined ? 0 : endedAtMs - theirsMs;
  if (Math.abs(skewMs) <= MOST_SKEW_MS) return "";
  const skew = formatDuration(Math.round(Math.abs(skewMs) / 1_000) * 1_000);
  return `: our clock is ${skew} ${skewMs > 0 ? "ahead" : "behind"}, and a signature of another time is refused`;
};

export const SIGNATURES: JudgingPart = {
  of: ({ auth }) => (auth?.kind === "aws" ? { remarks: [clockSkew] } : {}),
};
