import {
  completed,
  type Completion,
  COMPLETIONS_PATH,
  eventsOf,
  type Model,
  type SimulatedEvent,
} from "./completions.ts";
import type { Fault } from "./faults.ts";
import { type Span, within } from "./randomness.ts";

export type Fields = Readonly<Record<string, string>>;

export type Answer = {
  readonly status: number;
  readonly headers: Fields;
  readonly body: string;
  /** In place of the body where the answer is a stream. */
  readonly events?: readonly SimulatedEvent[];
  /** These are charged before the answer: the tokens of a stream are charged as it sends them. */
  readonly charged?: { readonly model: Model; readonly tokens: number };
};

export type Question = {
  readonly method: string;
  readonly path: string;
  readonly keyAccepted: boolean;
  /** Within the upstream's limits. */
  readonly allowed: boolean;
  readonly limitHeaders: Fields;
  readonly fault: Fault;
  /** A healthy upstream answers this. */
  readonly resources: string;
  /** The completion that is asked for, if any: the model's name where there is none of this name. */
  readonly completion?: Completion | string | undefined;
};

/** Faults below HTTP come first, then the limits, the key, the path, and the other faults. */
export function answerTo(question: Question): Answer {
  const { fault, limitHeaders, method, path } = question;
  const told = (answer: Answer): Answer => ({
    ...answer,
    headers: { ...limitHeaders, ...answer.headers },
  });
  const good = told(goodAnswer(question));
  if (isBelowHttp(fault)) return good;
  if (!question.allowed) return told(problem(429, "Too Many Requests"));
  // A gateway in front of the upstream answers, and does not know its limits.
  if (fault.kind === "throttle") return problem(429, "Too Many Requests", hintOf(fault.retryAfter));
  if (!question.keyAccepted || fault.kind === "unauthorized") {
    return told(problem(401, "Unauthorized", { "WWW-Authenticate": "Bearer" }));
  }
  const isCompletion = question.completion !== undefined && path === COMPLETIONS_PATH;
  if (!isCompletion && path !== "/v1/resources") return told(problem(404, "Not Found"));
  const allowed = isCompletion ? "POST" : "GET";
  if (method !== allowed) return told(problem(405, "Method Not Allowed", { Allow: allowed }));
  return fault.kind === "status" ? told(withStatus(fault, question.resources)) : good;
}

function goodAnswer({ completion, resources }: Question): Answer {
  if (completion === undefined) return json(200, resources);
  if (typeof completion === "string") {
    const error = { code: "model_not_found", message: `The model "${completion}" does not exist.` };
    return json(404, JSON.stringify({ error }));
  }
  const { model, promptTokens, maxTokens, isStream } = completion;
  if (!isStream) {
    return { ...json(200, completed(completion)), charged: { model, tokens: promptTokens + maxTokens } };
  }
  return {
    status: 200,
    headers: { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" },
    body: "",
    events: eventsOf(completion),
    charged: { model, tokens: promptTokens },
  };
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
