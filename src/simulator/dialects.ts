/** How an upstream speaks of its limits: as real providers do, each in its own way. */

import type { LimitRoom, Verdict } from "./request-ledger.ts";

export type Fields = Readonly<Record<string, string>>;

export type Refusal = { readonly status: number; readonly headers: Fields; readonly body: string };

/** What there is to say in one answer. */
type Said = {
  readonly limit: number;
  readonly remaining: number;
  readonly used: number;
  /** Whole seconds, at least one, until there is room for one more. */
  readonly waitS: number;
  /** Exact, as some tell it. */
  readonly waitMs: number;
  readonly windowS: number;
  readonly windowMs: number;
  /** Of the moment at which there is room. */
  readonly resetMs: number;
  readonly rooms: readonly LimitRoom[];
};

type Words = (said: Said) => Fields;

type Dialect = {
  /** In every answer. */
  readonly tells: Words;
  readonly refuses: {
    readonly status: number;
    readonly tells?: Words;
    readonly type?: string;
    readonly body: (said: Said) => unknown;
  };
};

const NOTHING: Words = () => ({});
const RETRY_AFTER: Words = ({ waitS }) => ({ "Retry-After": String(waitS) });

const PROBLEM = { type: "about:blank", title: "Too Many Requests", status: 429 };
const PROBLEM_TYPE = "application/problem+json";
/** A status for limits, when to come back, and a problem that says no more. */
const PLAIN: Dialect["refuses"] = {
  status: 429,
  tells: RETRY_AFTER,
  type: PROBLEM_TYPE,
  body: () => PROBLEM,
};

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
  ratelimit: { tells: ({ rooms }) => structuredFields(rooms), refuses: PLAIN },
  "draft-7": {
    tells: ({ limit, remaining, waitS, windowS }) => ({
      "RateLimit-Policy": `${limit};w=${windowS}`,
      RateLimit: `limit=${limit}, remaining=${remaining}, reset=${waitS}`,
    }),
    refuses: PLAIN,
  },
  "draft-6": {
    tells: ({ limit, remaining, waitS, windowS }) => ({
      "RateLimit-Policy": `${limit};w=${windowS}`,
      "RateLimit-Limit": String(limit),
      "RateLimit-Remaining": String(remaining),
      "RateLimit-Reset": String(waitS),
    }),
    refuses: PLAIN,
  },
  "draft-3": {
    tells: ({ limit, remaining, waitS, windowS }) => ({
      "RateLimit-Limit": `${limit}, ${limit};w=${windowS}`,
      "RateLimit-Remaining": String(remaining),
      "RateLimit-Reset": String(waitS),
    }),
    refuses: PLAIN,
  },
  /** What most did before there was a draft: the reset is a moment. */
  "x-ratelimit": { tells: (said) => older("X-RateLimit-", said), refuses: PLAIN },
  none: { tells: NOTHING, refuses: { status: 429, type: PROBLEM_TYPE, body: () => PROBLEM } },

  // E-mail and marketing.
  resend: {
    tells: ({ limit, remaining, waitS }) => ({
      "ratelimit-limit": String(limit),
      "ratelimit-remaining": String(remaining),
      "ratelimit-reset": String(waitS),
    }),
    refuses: {
      status: 429,
      tells: RETRY_AFTER,
      body: () => ({ statusCode: 429, name: "rate_limit_exceeded", message: "Too many requests." }),
    },
  },
  sendgrid: {
    tells: (said) => older("X-RateLimit-", said),
    refuses: {
      status: 401,
      body: () => ({ errors: [{ message: "Maximum credits exceeded", field: null, help: null }] }),
    },
  },
  hubspot: {
    tells: ({ limit, remaining, windowMs }) => ({
      "X-HubSpot-RateLimit-Max": String(limit),
      "X-HubSpot-RateLimit-Remaining": String(remaining),
      "X-HubSpot-RateLimit-Interval-Milliseconds": String(windowMs),
    }),
    refuses: {
      status: 429,
      body: () => ({ status: "error", errorType: "RATE_LIMIT", policyName: "TEN_SECONDLY_ROLLING" }),
    },
  },

  // Shops, code, social networks.
  github: {
    tells: (said) => ({
      ...older("X-RateLimit-", said),
      "X-RateLimit-Used": String(said.used),
      "X-RateLimit-Resource": "core",
    }),
    refuses: {
      status: 403,
      tells: RETRY_AFTER,
      body: () => ({
        message: "You have exceeded a secondary rate limit. Please wait before you try again.",
      }),
    },
  },
  docker: {
    tells: ({ limit, remaining, windowS }) => ({
      "RateLimit-Limit": `${limit};w=${windowS}`,
      "RateLimit-Remaining": `${remaining};w=${windowS}`,
    }),
    refuses: {
      status: 429,
      body: () => ({
        errors: [{ code: "TOOMANYREQUESTS", message: "You have reached your pull rate limit." }],
      }),
    },
  },
  bigcommerce: {
    tells: ({ limit, remaining, windowMs, waitMs }) => ({
      "X-Rate-Limit-Requests-Quota": String(limit),
      "X-Rate-Limit-Requests-Left": String(remaining),
      "X-Rate-Limit-Time-Window-Ms": String(windowMs),
      "X-Rate-Limit-Time-Reset-Ms": String(waitMs),
    }),
    refuses: { status: 429, body: () => ({ status: 429, title: "Too many requests" }) },
  },
  shopify: {
    tells: ({ limit, used }) => ({ "X-Shopify-Shop-Api-Call-Limit": `${used}/${limit}` }),
    refuses: {
      status: 429,
      tells: ({ waitS }) => ({ "Retry-After": waitS.toFixed(1) }),
      body: () => ({ errors: "Exceeded 2 calls per second for api client." }),
    },
  },
  discord: {
    tells: ({ limit, remaining, resetMs, waitMs }) => ({
      "X-RateLimit-Limit": String(limit),
      "X-RateLimit-Remaining": String(remaining),
      "X-RateLimit-Reset": (resetMs / 1000).toFixed(3),
      "X-RateLimit-Reset-After": (waitMs / 1000).toFixed(3),
      "X-RateLimit-Bucket": "abcd1234",
    }),
    refuses: {
      status: 429,
      tells: () => ({ "X-RateLimit-Scope": "user" }),
      body: ({ waitMs }) => ({
        message: "You are being rate limited.",
        retry_after: waitMs / 1000,
        global: false,
      }),
    },
  },
  reddit: {
    tells: ({ remaining, used, waitS }) => ({
      "X-Ratelimit-Used": String(used),
      "X-Ratelimit-Remaining": remaining.toFixed(1),
      "X-Ratelimit-Reset": String(waitS),
    }),
    refuses: { status: 429, body: () => ({ message: "Too Many Requests", error: 429 }) },
  },
  /** Its windows are known from its documentation alone. */
  strava: {
    tells: ({ rooms }) => ({
      "X-RateLimit-Limit": rooms.map(({ limit }) => limit.requests).join(","),
      "X-RateLimit-Usage": rooms.map(({ limit, remaining }) => limit.requests - remaining).join(","),
    }),
    refuses: { status: 429, body: () => ({ message: "Rate Limit Exceeded" }) },
  },

  // Models and markets.
  openai: {
    tells: ({ limit, remaining, waitMs }) => ({
      "x-ratelimit-limit-requests": String(limit),
      "x-ratelimit-remaining-requests": String(remaining),
      "x-ratelimit-reset-requests": goDuration(waitMs),
      "x-ratelimit-limit-tokens": "200000",
      "x-ratelimit-remaining-tokens": "199984",
      "x-ratelimit-reset-tokens": "4ms",
    }),
    refuses: {
      status: 429,
      body: ({ waitMs }) => ({
        error: {
          message: `Rate limit reached for requests. Please try again in ${goDuration(waitMs)}.`,
          type: "requests",
          code: "rate_limit_exceeded",
        },
      }),
    },
  },
  anthropic: {
    tells: ({ limit, remaining, resetMs }) => ({
      "anthropic-ratelimit-requests-limit": String(limit),
      "anthropic-ratelimit-requests-remaining": String(remaining),
      "anthropic-ratelimit-requests-reset": wholeSecondUp(resetMs),
      "anthropic-ratelimit-tokens-limit": "80000",
      "anthropic-ratelimit-tokens-remaining": "79000",
      "anthropic-ratelimit-tokens-reset": wholeSecondUp(resetMs),
    }),
    refuses: {
      status: 429,
      tells: RETRY_AFTER,
      body: () => ({
        type: "error",
        error: { type: "rate_limit_error", message: "This request would exceed your rate limit." },
      }),
    },
  },
  gemini: {
    tells: NOTHING,
    refuses: {
      status: 429,
      body: ({ waitS }) => ({
        error: {
          code: 429,
          status: "RESOURCE_EXHAUSTED",
          message: "Resource has been exhausted.",
          details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${waitS}s` }],
        },
      }),
    },
  },
  binance: {
    tells: ({ used }) => ({ "X-MBX-USED-WEIGHT-1M": String(used) }),
    refuses: {
      status: 418,
      tells: RETRY_AFTER,
      body: ({ resetMs }) => ({
        code: -1003,
        msg: `Way too much request weight used; IP banned until ${Math.ceil(resetMs)}.`,
      }),
    },
  },
  /** The wall in front of the API counts, and refuses with its own page. */
  cloudflare: {
    tells: () => ({ Server: "cloudflare", "CF-RAY": "0000000000000000-TXL" }),
    refuses: {
      status: 429,
      tells: RETRY_AFTER,
      type: "text/html; charset=UTF-8",
      body: () =>
        "<!DOCTYPE html><title>Access denied | api.example.com used Cloudflare to restrict access</title>" +
        "<h1>Error 1015</h1><h2>You are being rate limited</h2>",
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
  const said = saidOf(verdict, wallMs);
  const body = said === undefined ? PROBLEM : refuses.body(said);
  return {
    headers: said === undefined ? {} : tells(said),
    refusal: {
      status: refuses.status,
      headers: {
        "Content-Type": refuses.type ?? "application/json",
        ...(said === undefined ? {} : refuses.tells?.(said)),
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    },
  };
}

/** Of the scarcest limit; undefined where there is none. */
function saidOf({ rooms, remaining, resetMs }: Verdict, wallMs: number): Said | undefined {
  const scarcest = rooms.find((room) => room.remaining === remaining);
  if (scarcest === undefined) return undefined;
  const { requests, perMs } = scarcest.limit;
  return {
    limit: requests,
    remaining,
    used: requests - remaining,
    waitS: Math.max(1, seconds(resetMs)),
    waitMs: Math.max(1, Math.ceil(resetMs)),
    windowS: windowSeconds(perMs),
    windowMs: perMs,
    resetMs: wallMs + resetMs,
    rooms,
  };
}

/** Structured fields: the policy and the remaining requests of every limit. */
function structuredFields(rooms: readonly LimitRoom[]): Fields {
  const nameOf = ({ limit }: LimitRoom): string => `"per-${windowSeconds(limit.perMs)}s"`;
  return {
    "RateLimit-Policy": rooms
      .map((room) => `${nameOf(room)};q=${room.limit.requests};w=${windowSeconds(room.limit.perMs)}`)
      .join(", "),
    RateLimit: rooms
      .map((room) => `${nameOf(room)};r=${room.remaining};t=${seconds(room.resetMs)}`)
      .join(", "),
  };
}

/** The reset is in seconds since the epoch. */
function older(prefix: string, { limit, remaining, resetMs }: Said): Fields {
  return {
    [`${prefix}Limit`]: String(limit),
    [`${prefix}Remaining`]: String(remaining),
    [`${prefix}Reset`]: String(seconds(resetMs)),
  };
}

/** `1m2.5s`, `120ms`. */
function goDuration(timeMs: number): string {
  if (timeMs < 1000) return `${Math.ceil(timeMs)}ms`;
  const minutes = Math.floor(timeMs / 60_000);
  const rest = `${(timeMs - minutes * 60_000) / 1000}s`;
  return minutes === 0 ? rest : `${minutes}m${rest}`;
}

function wholeSecondUp(timeMs: number): string {
  return new Date(seconds(timeMs) * 1000).toISOString().replace(".000Z", "Z");
}

/** Most fields have whole seconds only. */
function windowSeconds(perMs: number): number {
  return Math.max(1, seconds(perMs));
}

function seconds(timeMs: number): number {
  return Math.ceil(timeMs / 1000);
}
