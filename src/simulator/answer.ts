import type { Fields, Refusal } from "./dialects.ts";
import type { Fault } from "./faults.ts";
import { type Span, within } from "./randomness.ts";

export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type Question = {
  readonly method: string;
  readonly path: string;
  readonly keyAccepted: boolean;
  /** Within the upstream's limits. */
  readonly allowed: boolean;
  readonly limitHeaders: Fields;
  /** The answer to a request that is not allowed. */
  readonly refusal: Refusal;
  readonly fault: Fault;
  /** A healthy upstream answers this. */
  readonly resources: string;
};

/** Faults below HTTP come first, then the limits, the key, the path, and the other faults. */
export function answerTo(question: Question): Answer {
  const { fault, limitHeaders, method, path, refusal } = question;
  const told = ({ status, headers, body }: Answer): Answer => ({
    status,
    headers: { ...limitHeaders, ...headers },
    body,
  });
  const listing = told(json(200, question.resources));
  if (isBelowHttp(fault)) return listing;
  if (!question.allowed) return told(refusal);
  // A gateway in front of the upstream answers, and does not know its limits.
  if (fault.kind === "throttle") return problem(429, "Too Many Requests", hintOf(fault.retryAfter));
  if (!question.keyAccepted || fault.kind === "unauthorized") {
    return told(problem(401, "Unauthorized", { "WWW-Authenticate": "Bearer" }));
  }
  if (path !== "/v1/resources") return told(problem(404, "Not Found"));
  if (method !== "GET") return told(problem(405, "Method Not Allowed", { Allow: "GET" }));
  return fault.kind === "status" ? told(withStatus(fault, question.resources)) : listing;
}

function isBelowHttp({ kind }: Fault): boolean {
  return kind === "reset" || kind === "close" || kind === "hang" || kind === "garbage";
}

function hintOf(retryAfter: string | undefined): Fields {
  return retryAfter === undefined ? {} : { "Retry-After": retryAfter };
}

function withStatus({ code, body, headers }: Extract<Fault, { kind: "status" }>, resources: string): Answer {
  if (body !== undefined) return json(code, body, headers);
  if (code === 204 || code === 304) return { status: code, headers: { ...headers }, body: "" };
  return code < 400 ? json(code, resources, headers) : problem(code, "The upstream is out of order", headers);
}

function json(status: number, body: string, headers: Fields = {}): Answer {
  return { status, headers: { "Content-Type": "application/json", ...headers }, body };
}

function problem(status: number, title: string, headers: Fields = {}): Answer {
  const body = JSON.stringify({ type: "about:blank", title, status });
  return { status, headers: { "Content-Type": "application/problem+json", ...headers }, body };
}

/** A slow or jittery upstream takes the fault's time, any other its usual latency. */
export function latencyMs(fault: Fault, usual: Span, random: () => number): number {
  const usualMs = within(usual, random);
  if (fault.kind === "slow") return fault.delayMs;
  return fault.kind === "jitter" ? within(fault, random) : usualMs;
}
