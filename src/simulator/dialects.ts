/** How an upstream speaks of its limits: as real providers do, each in its own way. */

import type { LimitRoom, Verdict } from "./request-ledger.ts";

export type Fields = Readonly<Record<string, string>>;

export type Refusal = { readonly status: number; readonly headers: Fields; readonly body: string };

/** Text stands here as it goes over the wire, and a name in angle brackets is filled in: `<limit>`. */
type Dialect = {
  /** The headers of every answer. */
  readonly tells: string;
  /** The answer to a request beyond the limit. */
  readonly refuses: { readonly status: number; readonly headers?: string; readonly body: string };
};

const RETRY_AFTER = "Retry-After: <waitS>";
const PROBLEM_TYPE = "Content-Type: application/problem+json";
const PROBLEM = '{"type":"about:blank","title":"Too Many Requests","status":429}';
/** A status for limits, when to come back, and a problem that says no more. */
const PLAIN = { status: 429, headers: `${PROBLEM_TYPE}\n${RETRY_AFTER}`, body: PROBLEM };
/** Most did this before there was a draft: the reset is a moment. */
const OLDER = `X-RateLimit-Limit: <limit>
               X-RateLimit-Remaining: <remaining>
               X-RateLimit-Reset: <resetS>`;

export const DIALECT_NAMES = [
  "ratelimit",
  "draft-7",
  "draft-6",
  "draft-3",
  "x-ratelimit",
  "none",
  "resend",
  "sendgrid",
  "hubspot",
  "github",
  "docker",
  "bigcommerce",
  "shopify",
  "discord",
  "reddit",
  "strava",
  "openai",
  "anthropic",
  "gemini",
  "binance",
  "cloudflare",
] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];

const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  // The drafts of a standard, the newest first.
  ratelimit: {
    tells: `RateLimit-Policy: <policies>
            RateLimit: <rooms>`,
    refuses: PLAIN,
  },
  "draft-7": {
    tells: `RateLimit-Policy: <limit>;w=<windowS>
            RateLimit: limit=<limit>, remaining=<remaining>, reset=<waitS>`,
    refuses: PLAIN,
  },
  "draft-6": {
    tells: `RateLimit-Policy: <limit>;w=<windowS>
            RateLimit-Limit: <limit>
            RateLimit-Remaining: <remaining>
            RateLimit-Reset: <waitS>`,
    refuses: PLAIN,
  },
  "draft-3": {
    tells: `RateLimit-Limit: <limit>, <limit>;w=<windowS>
            RateLimit-Remaining: <remaining>
            RateLimit-Reset: <waitS>`,
    refuses: PLAIN,
  },
  "x-ratelimit": { tells: OLDER, refuses: PLAIN },
  none: { tells: "", refuses: { ...PLAIN, headers: PROBLEM_TYPE } },

  // E-mail and marketing.
  resend: {
    tells: `ratelimit-limit: <limit>
            ratelimit-remaining: <remaining>
            ratelimit-reset: <waitS>`,
    refuses: {
      status: 429,
      headers: RETRY_AFTER,
      body: '{"statusCode":429,"name":"rate_limit_exceeded","message":"Too many requests."}',
    },
  },
  sendgrid: {
    tells: OLDER,
    refuses: {
      status: 401,
      body: '{"errors":[{"message":"Maximum credits exceeded","field":null,"help":null}]}',
    },
  },
  hubspot: {
    tells: `X-HubSpot-RateLimit-Max: <limit>
            X-HubSpot-RateLimit-Remaining: <remaining>
            X-HubSpot-RateLimit-Interval-Milliseconds: <windowMs>`,
    refuses: {
      status: 429,
      body: '{"status":"error","errorType":"RATE_LIMIT","policyName":"TEN_SECONDLY_ROLLING"}',
    },
  },

  // Shops, code, social networks.
  github: {
    tells: `${OLDER}
            X-RateLimit-Used: <used>
            X-RateLimit-Resource: core`,
    refuses: {
      status: 403,
      headers: RETRY_AFTER,
      body: '{"message":"You have exceeded a secondary rate limit. Please wait before you try again."}',
    },
  },
  docker: {
    tells: `RateLimit-Limit: <limit>;w=<windowS>
            RateLimit-Remaining: <remaining>;w=<windowS>`,
    refuses: {
      status: 429,
      body: '{"errors":[{"code":"TOOMANYREQUESTS","message":"You have reached your pull rate limit."}]}',
    },
  },
  bigcommerce: {
    tells: `X-Rate-Limit-Requests-Quota: <limit>
            X-Rate-Limit-Requests-Left: <remaining>
            X-Rate-Limit-Time-Window-Ms: <windowMs>
            X-Rate-Limit-Time-Reset-Ms: <waitMs>`,
    refuses: { status: 429, body: '{"status":429,"title":"Too many requests"}' },
  },
  shopify: {
    tells: "X-Shopify-Shop-Api-Call-Limit: <used>/<limit>",
    refuses: {
      status: 429,
      headers: "Retry-After: <waitS>.0",
      body: '{"errors":"Exceeded 2 calls per second for api client."}',
    },
  },
  discord: {
    tells: `X-RateLimit-Limit: <limit>
            X-RateLimit-Remaining: <remaining>
            X-RateLimit-Reset: <resetSeconds>
            X-RateLimit-Reset-After: <waitSeconds>
            X-RateLimit-Bucket: abcd1234`,
    refuses: {
      status: 429,
      headers: "X-RateLimit-Scope: user",
      body: '{"message":"You are being rate limited.","retry_after":<waitSeconds>,"global":false}',
    },
  },
  reddit: {
    tells: `X-Ratelimit-Used: <used>
            X-Ratelimit-Remaining: <remaining>.0
            X-Ratelimit-Reset: <waitS>`,
    refuses: { status: 429, body: '{"message":"Too Many Requests","error":429}' },
  },
  /** Its windows are known from its documentation alone. */
  strava: {
    tells: `X-RateLimit-Limit: <limits>
            X-RateLimit-Usage: <usages>`,
    refuses: { status: 429, body: '{"message":"Rate Limit Exceeded"}' },
  },

  // Models and markets.
  openai: {
    tells: `x-ratelimit-limit-requests: <limit>
            x-ratelimit-remaining-requests: <remaining>
            x-ratelimit-reset-requests: <waitInGo>
            x-ratelimit-limit-tokens: 200000
            x-ratelimit-remaining-tokens: 199984
            x-ratelimit-reset-tokens: 4ms`,
    refuses: {
      status: 429,
      body: '{"error":{"message":"Rate limit reached for requests. Please try again in <waitInGo>.","type":"requests","code":"rate_limit_exceeded"}}',
    },
  },
  anthropic: {
    tells: `anthropic-ratelimit-requests-limit: <limit>
            anthropic-ratelimit-requests-remaining: <remaining>
            anthropic-ratelimit-requests-reset: <resetDate>
            anthropic-ratelimit-tokens-limit: 80000
            anthropic-ratelimit-tokens-remaining: 79000
            anthropic-ratelimit-tokens-reset: <resetDate>`,
    refuses: {
      status: 429,
      headers: RETRY_AFTER,
      body: '{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit."}}',
    },
  },
  gemini: {
    tells: "",
    refuses: {
      status: 429,
      body: '{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Resource has been exhausted.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"<waitS>s"}]}}',
    },
  },
  binance: {
    tells: "X-MBX-USED-WEIGHT-1M: <used>",
    refuses: {
      status: 418,
      headers: RETRY_AFTER,
      body: '{"code":-1003,"msg":"Way too much request weight used; IP banned until <resetMs>."}',
    },
  },
  /** The wall in front of the API counts, and refuses with its own page. */
  cloudflare: {
    tells: `Server: cloudflare
            CF-RAY: 0000000000000000-TXL`,
    refuses: {
      status: 429,
      headers: `Content-Type: text/html; charset=UTF-8
                ${RETRY_AFTER}`,
      body: "<!DOCTYPE html><title>Access denied | api.example.com used Cloudflare to restrict access</title><h1>Error 1015</h1><h2>You are being rate limited</h2>",
    },
  },
};

export function isDialect(name: string): name is DialectName {
  return Object.hasOwn(DIALECTS, name);
}

/** Every answer has these headers, and one that is not allowed is this refusal. */
export function speak(
  name: DialectName,
  verdict: Verdict,
  wallMs: number,
): { readonly headers: Fields; readonly refusal: Refusal } {
  const { tells, refuses } = DIALECTS[name];
  const facts = factsOf(verdict, wallMs);
  // Without limits there is nothing to tell, and nothing is refused.
  if (facts === undefined) return { headers: {}, refusal: { status: refuses.status, headers: {}, body: "" } };
  return {
    headers: fieldsOf(tells, facts),
    refusal: {
      status: refuses.status,
      headers: { "Content-Type": "application/json", ...fieldsOf(refuses.headers ?? "", facts) },
      body: filled(refuses.body, facts),
    },
  };
}

type Facts = Readonly<Record<string, string | number>>;

function fieldsOf(text: string, facts: Facts): Fields {
  const lines = filled(text, facts).split("\n");
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [name, value] = line.trim().split(": ");
      return name === undefined || value === undefined ? [] : [[name, value] as const];
    }),
  );
}

/** A page has angle brackets of its own. */
function filled(text: string, facts: Facts): string {
  return text.replaceAll(/<(\w+)>/g, (whole, name: string) => String(facts[name] ?? whole));
}

/** They are about the scarcest limit; undefined where there is none. Most fields have whole seconds only. */
function factsOf({ rooms, remaining, resetMs }: Verdict, wallMs: number): Facts | undefined {
  const scarcest = rooms.find((room) => room.remaining === remaining);
  if (scarcest === undefined) return undefined;
  const { requests, perMs } = scarcest.limit;
  const waitMs = Math.max(1, Math.ceil(resetMs));
  const resetS = seconds(wallMs + resetMs);
  return {
    limit: requests,
    remaining,
    used: requests - remaining,
    limits: rooms.map(({ limit }) => limit.requests).join(","),
    usages: rooms.map(({ limit, remaining }) => limit.requests - remaining).join(","),
    windowS: windowSeconds(perMs),
    windowMs: perMs,
    waitS: Math.max(1, seconds(resetMs)),
    waitMs,
    waitSeconds: waitMs / 1000,
    waitInGo: goDuration(waitMs),
    resetS,
    resetMs: Math.ceil(wallMs + resetMs),
    resetSeconds: ((wallMs + resetMs) / 1000).toFixed(3),
    resetDate: new Date(resetS * 1000).toISOString().replace(".000Z", "Z"),
    policies: rooms
      .map(({ limit }) => `${nameOf(limit)};q=${limit.requests};w=${windowSeconds(limit.perMs)}`)
      .join(", "),
    rooms: rooms
      .map((room) => `${nameOf(room.limit)};r=${room.remaining};t=${seconds(room.resetMs)}`)
      .join(", "),
  };
}

function nameOf({ perMs }: LimitRoom["limit"]): string {
  return `"per-${windowSeconds(perMs)}s"`;
}

/** `1m2.5s`, `120ms`. */
function goDuration(timeMs: number): string {
  if (timeMs < 1000) return `${timeMs}ms`;
  const minutes = Math.floor(timeMs / 60_000);
  const rest = `${(timeMs - minutes * 60_000) / 1000}s`;
  return minutes === 0 ? rest : `${minutes}m${rest}`;
}

function windowSeconds(perMs: number): number {
  return Math.max(1, seconds(perMs));
}

function seconds(timeMs: number): number {
  return Math.ceil(timeMs / 1000);
}
