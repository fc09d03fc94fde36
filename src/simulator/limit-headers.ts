import type { Limit } from "./meters.ts";
import type { LimitRoom, Verdict } from "./request-ledger.ts";

/** How an upstream tells of its limits; with `none` it tells nothing, not even Retry-After. */
export type LimitHeaders = "ratelimit" | "x-ratelimit" | "none";

export function limitHeaders(
  style: LimitHeaders,
  verdict: Verdict,
  wallMs: number,
): Readonly<Record<string, string>> {
  if (style === "none" || verdict.rooms.length === 0) return {};
  const retry = verdict.allowed ? {} : { "Retry-After": String(Math.max(1, seconds(verdict.resetMs))) };
  return style === "ratelimit"
    ? { ...structuredFields(verdict.rooms), ...retry }
    : { ...plainFields(verdict, wallMs), ...retry };
}

/** Structured fields: the policy of every limit, and what is left of it. */
function structuredFields(rooms: readonly LimitRoom[]): Readonly<Record<string, string>> {
  return {
    "RateLimit-Policy": rooms
      .map(({ limit }) => `"${policyName(limit)}";q=${limit.requests};w=${windowSeconds(limit)}`)
      .join(", "),
    RateLimit: rooms
      .map(({ limit, remaining, resetMs }) => `"${policyName(limit)}";r=${remaining};t=${seconds(resetMs)}`)
      .join(", "),
  };
}

/** The older habit: the scarcest limit alone, and its reset as a moment in seconds since the epoch. */
function plainFields(verdict: Verdict, wallMs: number): Readonly<Record<string, string>> {
  const scarcest = verdict.rooms.find((room) => room.remaining === verdict.remaining);
  if (scarcest === undefined) return {};
  return {
    "X-RateLimit-Limit": String(scarcest.limit.requests),
    "X-RateLimit-Remaining": String(scarcest.remaining),
    "X-RateLimit-Reset": String(seconds(wallMs + verdict.resetMs)),
  };
}

function policyName(limit: Limit): string {
  return `per-${windowSeconds(limit)}s`;
}

/** The fields know whole seconds only. */
function windowSeconds(limit: Limit): number {
  return Math.max(1, seconds(limit.perMs));
}

function seconds(timeMs: number): number {
  return Math.ceil(timeMs / 1000);
}
