/** What can go wrong at an upstream, and when. */

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
  | { readonly kind: "redirect"; readonly to: string; readonly code?: number }
  /** The connection is reset. */
  | { readonly kind: "reset"; readonly at: "before_head" | "mid_body" }
  /** The connection stays open, and nothing more comes. */
  | { readonly kind: "hang"; readonly at: "before_head" | "mid_body" }
  /** The connection is closed cleanly, but half of the announced body is missing. */
  | { readonly kind: "truncated" }
  /** Raw text instead of an answer, then the connection is closed. */
  | { readonly kind: "garbage"; readonly text?: string }
  | { readonly kind: "invalid_json" }
  | { readonly kind: "empty" }
  /** The whole answer, a few bytes at a time. */
  | { readonly kind: "drip"; readonly chunkBytes: number; readonly everyMs: number }
  /** Valid JSON of that size; with `gzip` small on the wire and large when decoded. */
  | { readonly kind: "oversized"; readonly bodyBytes: number; readonly gzip: boolean };

export const HEALTHY: Fault = { kind: "none" };

export type ScriptEntry = {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly fault: Fault;
  /** Printed after the upstream's name: `answers 500`. */
  readonly words: string;
};

/**
 * Times count from the upstream's start, and start again every `periodMs` (infinite: never). Between entries the
 * upstream is healthy. Where two entries overlap, the first of the list applies.
 */
export type FaultScript = { readonly periodMs: number; readonly entries: readonly ScriptEntry[] };

export const ALWAYS_HEALTHY: FaultScript = { periodMs: Number.POSITIVE_INFINITY, entries: [] };

export function faultAt(script: FaultScript, elapsedMs: number): Fault {
  return entryAt(script, elapsedMs)?.fault ?? HEALTHY;
}

/** The entry that applies at that moment, if any. */
export function entryAt(script: FaultScript, elapsedMs: number): ScriptEntry | undefined {
  const momentMs = elapsedMs % script.periodMs;
  return script.entries.find(({ fromMs, untilMs }) => fromMs <= momentMs && momentMs < untilMs);
}
