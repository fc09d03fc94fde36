/** An upstream tells its limits in headers: in every answer, and when to ask again in one that refuses. */

import type { Fields } from "./answer.ts";
import type { LimitRoom, Verdict } from "./request-ledger.ts";

export type Dialect = (verdict: Verdict, wallMs: number) => Fields;

/** In the newest draft of a standard. */
export const ratelimit: Dialect = (verdict) => {
  const { rooms } = verdict;
  // Without limits there is nothing to tell.
  if (rooms.length === 0) return {};
  const list = (tell: (room: LimitRoom) => string): string =>
    rooms.map((room) => `"per-${windowSeconds(room)}s";${tell(room)}`).join(", ");
  return {
    ...retryAfter(verdict),
    "RateLimit-Policy": list((room) => `q=${room.limit.requests};w=${windowSeconds(room)}`),
    RateLimit: list((room) => `r=${room.remaining};t=${seconds(room.resetMs)}`),
  };
};

/** In the older headers, which have room for the scarcest limit alone. */
export const xRatelimit: Dialect = (verdict, wallMs) => {
  const { rooms, remaining, resetMs } = verdict;
  const scarcest = rooms.find((room) => room.remaining === remaining);
  if (scarcest === undefined) return {};
  return {
    ...retryAfter(verdict),
    "X-RateLimit-Limit": String(scarcest.limit.requests),
    "X-RateLimit-Remaining": String(remaining),
    "X-RateLimit-Reset": String(seconds(wallMs + resetMs)),
  };
};

function retryAfter({ allowed, resetMs }: Verdict): Fields {
  return allowed ? {} : { "Retry-After": String(Math.max(1, seconds(resetMs))) };
}

function windowSeconds({ limit }: LimitRoom): number {
  return Math.max(1, seconds(limit.perMs));
}

function seconds(timeMs: number): number {
  return Math.ceil(timeMs / 1000);
}
