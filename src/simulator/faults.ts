/** Faults of an upstream, and when they happen. */

export type Fault =
  | { readonly kind: "none" }
  | { readonly kind: "slow"; readonly delayMs: number }
  | { readonly kind: "jitter"; readonly minMs: number; readonly maxMs: number }
  | {
      readonly kind: "status";
      readonly code: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** 429; `retryAfter` is sent unchanged: seconds, a date, or nonsense. */
  | { readonly kind: "throttle"; readonly retryAfter?: string }
  /** 401, whatever the key. */
  | { readonly kind: "unauthorized" }
  /** The connection is reset, or closed cleanly, or stays open and nothing more comes. */
  | { readonly kind: "reset" | "close" | "hang"; readonly at: "before_head" | "mid_body" }
  /** An error in the middle of a stream, which then ends; other answers are healthy. */
  | { readonly kind: "error_event"; readonly data: string }
  /** Raw text instead of an answer, then the connection is closed. */
  | { readonly kind: "garbage"; readonly text: string };

export const HEALTHY: Fault = { kind: "none" };

export type ScriptEntry = {
  readonly fromMs: number;
  readonly untilMs: number;
  /** The fault is that of this model's completions alone. */
  readonly model?: string;
  readonly fault: Fault;
  /** Printed after the upstream's name: `answers 500`. */
  readonly words: string;
};

/**
 * Times count from the upstream's start, and start again every `periodMs` (infinite: never). Entries follow one
 * another; between them the upstream is healthy.
 */
export type FaultScript = { readonly periodMs: number; readonly entries: readonly ScriptEntry[] };

export const ALWAYS_HEALTHY: FaultScript = { periodMs: Number.POSITIVE_INFINITY, entries: [] };

/** `model`: the one that is asked for a completion, if any is. */
export function faultAt({ periodMs, entries }: FaultScript, elapsedMs: number, model?: string): Fault {
  const momentMs = elapsedMs % periodMs;
  const entry = entries.find(
    ({ fromMs, untilMs, model: only = model }) => only === model && fromMs <= momentMs && momentMs < untilMs,
  );
  return entry?.fault ?? HEALTHY;
}
