import type { IncomingHttpHeaders } from "node:http";
import { gzipSync } from "node:zlib";
import type { Fields, Refusal } from "./dialects.ts";
import type { Fault } from "./faults.ts";
import { type Span, within } from "./randomness.ts";

/** How the bytes of an answer are sent. */
type Delivery =
  | { readonly kind: "whole" }
  | { readonly kind: "reset" | "hang"; readonly at: "before_head" | "mid_body" }
  | { readonly kind: "truncated" }
  | { readonly kind: "garbage"; readonly text: string }
  | { readonly kind: "drip"; readonly chunkBytes: number; readonly everyMs: number };

export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly delivery: Delivery;
};

export type Question = {
  readonly method: string;
  readonly path: string;
  readonly keyAccepted: boolean;
  /** Within the upstream's limits. */
  readonly allowed: boolean;
  readonly limitHeaders: Fields;
  /** Of a request that is not allowed. */
  readonly refusal: Refusal;
  readonly fault: Fault;
  /** What a healthy upstream answers. */
  readonly resources: string;
};

const PATH = "/v1/resources";
const WHOLE: Delivery = { kind: "whole" };
const JSON_TYPE = { "Content-Type": "application/json" };

/** Faults below HTTP come first, then the limits, the key, the path, and the other faults. */
export function answerTo(question: Question): Answer {
  const { fault } = question;
  if (fault.kind === "reset" || fault.kind === "hang") return { ...listing(question), delivery: fault };
  if (fault.kind === "garbage") {
    return {
      ...listing(question),
      delivery: { kind: "garbage", text: fault.text ?? "220 ready when you are\r\n" },
    };
  }
  if (!question.allowed) {
    const { status, headers, body } = question.refusal;
    return answer(question, status, headers, body);
  }
  if (fault.kind === "throttle") {
    // As from a gateway that does not know the upstream's limits.
    const hint: Record<string, string> =
      fault.retryAfter === undefined ? {} : { "Retry-After": fault.retryAfter };
    return problem({ ...question, limitHeaders: {} }, 429, "Too Many Requests", hint);
  }
  if (!question.keyAccepted || fault.kind === "unauthorized") {
    return problem(question, 401, "Unauthorized", { "WWW-Authenticate": "Bearer" });
  }
  if (question.path !== PATH) return problem(question, 404, "Not Found", {});
  if (question.method !== "GET") return problem(question, 405, "Method Not Allowed", { Allow: "GET" });
  return resourcesUnder(fault, question);
}

type LateFault = Exclude<Fault, { kind: "reset" | "hang" | "garbage" | "throttle" | "unauthorized" }>;

function resourcesUnder(fault: LateFault, question: Question): Answer {
  switch (fault.kind) {
    case "none":
    case "slow":
    case "jitter":
      return listing(question);
    case "status":
      return withStatus(fault, question);
    case "redirect":
      return answer(question, fault.code ?? 302, { Location: fault.to }, "");
    case "truncated":
    case "drip":
      return { ...listing(question), delivery: fault };
    case "invalid_json":
      return answer(question, 200, JSON_TYPE, `${question.resources.slice(0, -1)},`);
    case "empty":
      return answer(question, 200, JSON_TYPE, "");
    case "oversized":
      return oversized(fault, question);
    default:
      return fault satisfies never;
  }
}

function listing(question: Question): Answer {
  return answer(question, 200, JSON_TYPE, question.resources);
}

function withStatus(fault: Extract<Fault, { kind: "status" }>, question: Question): Answer {
  const headers = fault.headers ?? {};
  if (fault.body !== undefined) return answer(question, fault.code, { ...JSON_TYPE, ...headers }, fault.body);
  if (fault.code === 204 || fault.code === 304) return answer(question, fault.code, headers, "");
  return fault.code < 400
    ? answer(question, fault.code, { ...JSON_TYPE, ...headers }, question.resources)
    : problem(question, fault.code, "The upstream is out of order", headers);
}

function oversized(fault: Extract<Fault, { kind: "oversized" }>, question: Question): Answer {
  const frame = `{"padding":""}`;
  const text = `{"padding":"${"x".repeat(Math.max(0, fault.bodyBytes - frame.length))}"}`;
  if (!fault.gzip) return answer(question, 200, JSON_TYPE, text);
  return answer(question, 200, { ...JSON_TYPE, "Content-Encoding": "gzip" }, gzipSync(text));
}

function problem(
  question: Question,
  status: number,
  title: string,
  headers: Readonly<Record<string, string>>,
): Answer {
  const body = JSON.stringify({ type: "about:blank", title, status });
  return answer(question, status, { "Content-Type": "application/problem+json", ...headers }, body);
}

function answer(
  question: Question,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
): Answer {
  return {
    status,
    headers: { ...question.limitHeaders, ...headers },
    body: typeof body === "string" ? Buffer.from(body) : body,
    delivery: WHOLE,
  };
}

/** A slow or jittery upstream takes the fault's time, any other its usual latency. */
export function latencyMs(fault: Fault, usual: Span, random: () => number): number {
  const usualMs = within(usual, random);
  if (fault.kind === "slow") return fault.delayMs;
  return fault.kind === "jitter" ? within(fault, random) : usualMs;
}

/** How a caller must send its key. */
export type Key =
  | { readonly kind: "bearer"; readonly value: string }
  | { readonly kind: "header"; readonly name: string; readonly value: string }
  | { readonly kind: "query"; readonly name: string; readonly value: string };

export function carriesKey(key: Key | undefined, target: string, headers: IncomingHttpHeaders): boolean {
  if (key === undefined) return true;
  switch (key.kind) {
    case "bearer":
      return /^bearer (?<token>.*)$/i.exec(headers.authorization ?? "")?.groups?.["token"] === key.value;
    case "header":
      return headers[key.name.toLowerCase()] === key.value;
    case "query":
      return new URLSearchParams(queryOf(target)).get(key.name) === key.value;
    default:
      return key satisfies never;
  }
}

function queryOf(target: string): string {
  const mark = target.indexOf("?");
  return mark === -1 ? "" : target.slice(mark + 1);
}
