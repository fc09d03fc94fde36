/** How an upstream speaks of its limits: in the newest draft of a standard, in the older headers, or not at all. */

import { type Answer, type Fields, problem } from "./answer.ts";
import type { LimitRoom, Verdict } from "./request-ledger.ts";

export type Dialect = "ratelimit" | "x-ratelimit" | "none";

/** A request that is not allowed is answered so. */
export function refusalIn(dialect: Dialect, { resetMs }: Verdict): Answer {
  const waitS = String(Math.max(1, seconds(resetMs)));
  return problem(429, "Too Many Requests", dialect === "none" ? {} : { "Retry-After": waitS });
}

/** Every answer has these headers. */
export function limitHeadersIn(
  dialect: Dialect,
  { rooms, remaining, resetMs }: Verdict,
  wallMs: number,
): Fields {
  const scarcest = rooms.find((room) => room.remaining === remaining);
  // Without limits there is nothing to tell.
  if (scarcest === undefined || dialect === "none") return {};
  if (dialect === "x-ratelimit") {
    return {
      "X-RateLimit-Limit": String(scarcest.limit.requests),
      "X-RateLimit-Remaining": String(remaining),
      "X-RateLimit-Reset": String(seconds(wallMs + resetMs)),
    };
  }
  return {
    "RateLimit-Policy": rooms
      .map((room) => `${nameOf(room)};q=${room.limit.requests};w=${windowSeconds(room)}`)
      .join(", "),
    RateLimit: rooms
      .map((room) => `${nameOf(room)};r=${room.remaining};t=${seconds(room.resetMs)}`)
      .join(", "),
  };
}

function nameOf(room: LimitRoom): string {
  return `"per-${windowSeconds(room)}s"`;
}

function windowSeconds({ limit }: LimitRoom): number {
  return Math.max(1, seconds(limit.perMs));
}

function seconds(timeMs: number): number {
  return Math.ceil(timeMs / 1000);
}
