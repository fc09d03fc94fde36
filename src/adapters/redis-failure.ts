import { messageOf } from "../core/error-text.ts";
import type { RedisFailure } from "../core/redis-failure.ts";

export function failureOf(error: unknown): RedisFailure {
  if (!(error instanceof Error)) return "away";
  if (error.name === "AbortError") return "timeout";
  return isErrorReply(error) ? "refused" : "away";
}

/** An answer of one that was a master, or is not one yet: somebody else may be it now. */
export function isFailover(error: unknown): boolean {
  return /^(?:READONLY|MASTERDOWN|LOADING|UNBLOCKED)\b/.test(messageOf(error));
}

/** What a server says begins with a word in capitals. */
function isErrorReply(error: Error): boolean {
  return /^[A-Z]{3,}\b/.test(error.message);
}
