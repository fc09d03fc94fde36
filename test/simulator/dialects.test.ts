import { expect, test } from "vitest";

import { DIALECT_NAMES, speak } from "../../src/simulator/dialects.ts";
import { slidingLog } from "../../src/simulator/meters.ts";
import { RequestLedger } from "../../src/simulator/request-ledger.ts";

const WALL_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

/** Ten in a minute, of which so many were asked for; the oldest came 20.5 s ago. */
function after(requests: number, dialect: string) {
  const counts = new RequestLedger([{ requests: 10, perMs: 60_000 }], slidingLog);
  let verdict = counts.count(0);
  for (let asked = 1; asked < requests; asked += 1) verdict = counts.count(20_500);
  return speak(dialect, verdict, WALL_MS);
}

test.each<[string, Readonly<Record<string, string>>]>([
  ["ratelimit", { "RateLimit-Policy": '"per-60s";q=10;w=60', RateLimit: '"per-60s";r=7;t=40' }],
  ["draft-7", { "RateLimit-Policy": "10;w=60", RateLimit: "limit=10, remaining=7, reset=40" }],
  ["resend", { "ratelimit-limit": "10", "ratelimit-remaining": "7", "ratelimit-reset": "40" }],
  ["shopify", { "X-Shopify-Shop-Api-Call-Limit": "3/10" }],
  ["docker", { "RateLimit-Limit": "10;w=60", "RateLimit-Remaining": "7;w=60" }],
  ["strava", { "X-RateLimit-Limit": "10", "X-RateLimit-Usage": "3" }],
  ["none", {}],
])("%s: a good answer tells its limit as real ones do", (dialect, headers) => {
  expect(after(3, dialect).headers).toEqual(headers);
});

test.each<[string, number, RegExp]>([
  ["sendgrid", 401, /"message":"Maximum credits exceeded"/],
  ["github", 403, /secondary rate limit/],
  ["binance", 418, /IP banned until 1767323084500/],
  ["openai", 429, /try again in 39\.5s/],
  ["gemini", 429, /"retryDelay":"40s"/],
  ["discord", 429, /"retry_after":39\.5,/],
  ["cloudflare", 429, /<h2>You are being rate limited/],
])("%s: one too many is refused with %i, and says so in its words", (dialect, status, words) => {
  const { refusal } = after(11, dialect);
  expect(refusal.status).toBe(status);
  expect(refusal.body).toMatch(words);
});

test.each(DIALECT_NAMES)("%s: what it writes can be sent", (dialect) => {
  const { headers, refusal } = after(11, dialect);
  expect(
    () => new Response(refusal.body, { status: refusal.status, headers: refusal.headers }),
  ).not.toThrow();
  expect(() => new Headers(headers)).not.toThrow();
});
