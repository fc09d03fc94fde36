import type { Limit } from "./meters.ts";
import type { LimitRoom, Verdict } from "./request-ledger.ts";

/** How an upstream announces its limits; `none` sends no header at all, not even Retry-After. */
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

/** Structured fields: the policy and the remaining requests of every limit. */
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

/** The older style: only the scarcest limit, with its reset in seconds since the epoch. */
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

/** The fields have whole seconds only. */
function windowSeconds(limit: Limit): number {
  return Math.max(1, seconds(limit.perMs));
}

function seconds(timeMs: number): number {
  return Math.ceil(timeMs / 1000);
}
