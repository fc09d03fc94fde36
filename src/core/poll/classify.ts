/** What an exchange means: the one place that judges answers. */

import type { Advice } from "../advice/advice.ts";
import type { Expectation } from "../config/config.ts";
import { beginningOf } from "../exchange/excerpt.ts";
import { type AnswerHead, type Exchange, headerValue, type WithoutKeys } from "../exchange/exchange.ts";
import { MOST_LEVELS, readJson } from "../exchange/json-body.ts";
import type { FailureReason, PollOutcome } from "../exchange/outcome.ts";

export type Classification = {
  readonly outcome: PollOutcome;
  /** One sentence for people, escaped and capped. */
  readonly detail: string;
};

const DAY_MS = 86_400_000;
const BEGINNING_CHARACTERS = 40;

const NO_CONTENT_STATUSES: ReadonlySet<number> = new Set([204, 304]);

function failed(reason: FailureReason, detail: string): Classification {
  return { outcome: { kind: "failed", reason }, detail };
}

function throttled(throttle: "rate" | "quota", detail: string): Classification {
  return { outcome: { kind: "throttled", throttle }, detail };
}

function isQuotaProblem(exchange: Exchange): boolean {
  if (exchange.kind === "broken") return false;
  const mediaType = headerValue(exchange.head.headers, "content-type")
    ?.split(";", 1)[0]
    ?.trim()
    .toLowerCase();
  if (mediaType !== "application/problem+json") return false;
  const problem = readJson(exchange.body);
  if (problem.kind !== "json" || typeof problem.value !== "object" || problem.value === null) return false;
  if (!("type" in problem.value) || typeof problem.value.type !== "string") return false;
  return problem.value.type.endsWith("quota-exceeded");
}

function classifyThrottled(exchange: Exchange, status: number, advice: Advice | undefined): Classification {
  if (status === 402) return throttled("quota", "answered 402: the quota is spent, or a payment is due");
  if (isQuotaProblem(exchange))
    return throttled("quota", "answered 429: its problem type says quota-exceeded");
  const windowMs = advice?.exhaustedPerMs ?? 0;
  if (windowMs < DAY_MS) return throttled("rate", "answered 429: too many requests");
  return throttled("quota", `answered 429: the quota of ${Math.round(windowMs / 3_600_000)} h is spent`);
}

function classifyUnexpected(status: number, expect: Expectation): Classification {
  if (status >= 300 && status < 400) return failed("redirect", `answered ${status}: no redirect is followed`);
  if (status === 401) return failed("unauthorized", "answered 401: the key was not accepted");
  if (status === 403) return failed("forbidden", "answered 403: the key does not allow this");
  if (status >= 400 && status < 500) return failed("client_error", `answered ${status}`);
  if (status >= 500 && status < 600) return failed("server_error", `answered ${status}`);
  return failed("unexpected_status", `answered ${status}, expected ${expect.status.join(" or ")}`);
}

function classifyExpected(
  head: AnswerHead,
  body: Uint8Array,
  expect: Expectation,
  withoutKeys: WithoutKeys,
): Classification {
  const { status } = head;
  const ok: Classification = {
    outcome: { kind: "ok" },
    detail: `answered ${status} with ${body.length} B`,
  };
  if (!expect.json || NO_CONTENT_STATUSES.has(status)) return ok;
  const { kind } = readJson(body);
  switch (kind) {
    case "json":
      return ok;
    case "empty":
      return failed("invalid_body", `answered ${status} with an empty body where JSON was expected`);
    case "too_deep":
      return failed(
        "invalid_body",
        `answered ${status}, but its JSON nests deeper than ${MOST_LEVELS} levels`,
      );
    case "not_utf8":
      return failed("invalid_body", `answered ${status}, but its ${body.length} B are not UTF-8`);
    case "not_json": {
      const beginning = withoutKeys(beginningOf(body, BEGINNING_CHARACTERS));
      const sentence = `answered ${status}, but its ${body.length} B are not JSON`;
      return failed("invalid_body", `${sentence}: they begin with "${beginning}"`);
    }
    default:
      return kind satisfies never;
  }
}

/** A 429 or 402 is a refusal even if its body broke off, and whatever the config expects. */
export function classify(
  exchange: Exchange,
  expect: Expectation,
  advice: Advice | undefined,
  withoutKeys: WithoutKeys = () => "…",
): Classification {
  const status = exchange.head?.status;
  if (status === 429 || status === 402) return classifyThrottled(exchange, status, advice);
  if (exchange.kind === "broken") {
    const after = status === undefined ? "" : `, after it had answered ${status}`;
    return failed(exchange.fault, `${exchange.detail}${after}`);
  }
  if (!expect.status.includes(exchange.head.status)) return classifyUnexpected(exchange.head.status, expect);
  return classifyExpected(exchange.head, exchange.body, expect, withoutKeys);
}
