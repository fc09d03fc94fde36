import type { UpstreamSignals } from "../../src/core/budget/signals.ts";

/** Different limits that are kept at once. Further ones are merged into the strictest of them. */
const MOST_LIMITS = 8;
const MOST_DOUBLINGS = 30;

/**
 * The signals that are in force for a shared budget, as the Lua scripts keep them. Unlike those of one process, they may
 * arrive late from a replica that was cut off, and the clock of Redis may be set back.
 */
export class SharedSignals {
  #pausedUntilMs = 0;
  #hintlessRefusals = 0;
  /** By window; the strictest limit comes first and ends first. Undefined until a limit is lowered. */
  #lowered: Map<number, readonly { readonly requests: number; readonly untilMs: number }[]> | undefined;
  #yieldUntilMs = 0;
  /** When the answer was sent that was counted last, or that advertised or spoke of yielding last. */
  #heardAtMs = 0;
  #advertisedAtMs = 0;
  #yieldAtMs = 0;
  #advertised: NonNullable<UpstreamSignals["advertised"]> = { limit: undefined, remaining: undefined };

  /** In the past if there is no pause. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  get refusals(): number {
    return this.#hintlessRefusals;
  }

  get yieldUntilMs(): number {
    return this.#yieldUntilMs;
  }

  /** The upstream's last word, unchanged. */
  get advertised(): NonNullable<UpstreamSignals["advertised"]> {
    return this.#advertised;
  }

  /** The strictest limit in force for this window. */
  loweredTo(perMs: number, nowMs: number): number | undefined {
    return this.#lowered?.get(perMs)?.find((lowered) => nowMs < lowered.untilMs)?.requests;
  }

  keepWindows(windows: ReadonlySet<number>): void {
    for (const perMs of this.#lowered?.keys() ?? []) if (!windows.has(perMs)) this.#lowered?.delete(perMs);
  }

  /** `atMs`: when the upstream sent them, if not now. What is older than what stands can only tighten. */
  apply(
    signals: UpstreamSignals,
    longestWindowMs: number,
    maxPauseMs: number,
    nowMs: number,
    atMs: number = nowMs,
  ): void {
    this.#applyPause(signals, longestWindowMs, maxPauseMs, atMs);
    for (const { perMs, requests } of signals.lowered) this.#lower(perMs, requests, nowMs, atMs + perMs);
    if (signals.advertised !== undefined && atMs >= this.#advertisedAtMs) {
      this.#advertisedAtMs = atMs;
      this.#advertised = signals.advertised;
    }
    if (signals.yieldMs !== undefined && atMs >= this.#yieldAtMs) {
      this.#yieldAtMs = atMs;
      this.#yieldUntilMs = signals.yieldMs > 0 ? atMs + signals.yieldMs : 0;
    }
  }

  /** By the operator's word: what the upstream asked for no longer holds us back. Lowered limits and leases stay. */
  resume(): void {
    this.#pausedUntilMs = 0;
    this.#hintlessRefusals = 0;
    this.#yieldUntilMs = 0;
  }

  /** After the clock was set back, nothing may last longer than it was meant to. */
  shortenTo(windows: readonly number[], maxPauseMs: number, nowMs: number): void {
    this.#pausedUntilMs = Math.min(this.#pausedUntilMs, nowMs + maxPauseMs);
    this.#yieldUntilMs = Math.min(this.#yieldUntilMs, nowMs + maxPauseMs);
    this.#heardAtMs = Math.min(this.#heardAtMs, nowMs);
    this.#advertisedAtMs = Math.min(this.#advertisedAtMs, nowMs);
    this.#yieldAtMs = Math.min(this.#yieldAtMs, nowMs);
    for (const perMs of windows) {
      const lowered = this.#lowered?.get(perMs) ?? [];
      this.#lowered?.set(
        perMs,
        lowered.map((limit) => ({ ...limit, untilMs: Math.min(limit.untilMs, nowMs + perMs) })),
      );
    }
  }

  #applyPause(signals: UpstreamSignals, longestWindowMs: number, maxPauseMs: number, atMs: number): void {
    if (signals.pauseMs > 0) this.#pause(signals.pauseMs, maxPauseMs, atMs);
    // An answer during a pause belongs to the burst that caused it: it neither doubles the pause nor ends the count.
    // Nor does one that is older than another that was counted.
    if (atMs < Math.max(this.#pausedUntilMs, this.#heardAtMs)) return;
    this.#heardAtMs = atMs;
    if (!signals.isThrottled) {
      this.#hintlessRefusals = 0;
    } else if (signals.pauseMs <= 0) {
      this.#pause(longestWindowMs * 2 ** this.#hintlessRefusals, maxPauseMs, atMs);
      this.#hintlessRefusals = Math.min(this.#hintlessRefusals + 1, MOST_DOUBLINGS);
    }
  }

  #pause(forMs: number, maxPauseMs: number, atMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, atMs + Math.min(forMs, maxPauseMs));
  }

  /** Stricter limits come first, and end first: one that is less strict and ends sooner says nothing. */
  #lower(perMs: number, requests: number, nowMs: number, untilMs: number): void {
    const inForce = (this.#lowered?.get(perMs) ?? []).filter((limit) => nowMs < limit.untilMs);
    const isKnown = inForce.some((limit) => limit.requests <= requests && limit.untilMs >= untilMs);
    if (untilMs <= nowMs || isKnown) return;
    const kept = inForce.filter((limit) => limit.requests < requests || limit.untilMs > untilMs);
    const limits = [...kept, { requests, untilMs }].toSorted((a, b) => a.requests - b.requests);
    const [last, extra] = limits.slice(MOST_LIMITS - 1);
    if (last !== undefined && extra !== undefined)
      limits.splice(MOST_LIMITS - 1, 2, { requests: last.requests, untilMs: extra.untilMs });
    (this.#lowered ??= new Map()).set(perMs, limits);
  }
}
