/** The orders that stand for one budget: pauses, lowered limits, yielding. They only ever tighten, until they end. */

import type { Orders } from "./orders.ts";

/** A limit that was said, and until when it stands. */
export type Lowered = { readonly requests: number; readonly untilMs: number };

/** More different limits than this at once are merged, to the safe side. */
const MOST_STANDING = 8;
const MOST_DOUBLINGS = 30;

export class StandingOrders {
  #pausedUntilMs = 0;
  #hintlessRefusals = 0;
  /** By window; of what stands, the strictest comes first and ends first. */
  #lowered = new Map<number, readonly Lowered[]>();
  #yieldUntilMs = 0;
  #advertised: NonNullable<Orders["advertised"]> = { limit: undefined, remaining: undefined };

  /** In the past where there is no pause. */
  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  get yieldUntilMs(): number {
    return this.#yieldUntilMs;
  }

  /** What the upstream said last, as it said it. */
  get advertised(): NonNullable<Orders["advertised"]> {
    return this.#advertised;
  }

  /** The strictest limit of this window that stands. */
  loweredTo(perMs: number, nowMs: number): number | undefined {
    return this.#lowered.get(perMs)?.find((lowered) => nowMs < lowered.untilMs)?.requests;
  }

  keepWindows(windows: ReadonlySet<number>): void {
    for (const perMs of this.#lowered.keys()) if (!windows.has(perMs)) this.#lowered.delete(perMs);
  }

  /** They were given at `atMs`: now, or a while ago. */
  carryOut(
    orders: Orders,
    longestWindowMs: number,
    maxPauseMs: number,
    nowMs: number,
    atMs: number = nowMs,
  ): void {
    this.#heedPause(orders, longestWindowMs, maxPauseMs, nowMs, atMs);
    for (const { perMs, requests } of orders.lowered) this.#lower(perMs, requests, nowMs, atMs);
    if (orders.advertised !== undefined) this.#advertised = orders.advertised;
    if (orders.yieldMs !== undefined) this.#yieldUntilMs = orders.yieldMs > 0 ? atMs + orders.yieldMs : 0;
  }

  /** After a clock that was set back, nothing may stand for longer than it was meant to. */
  cut(windows: readonly number[], maxPauseMs: number, nowMs: number): void {
    this.#pausedUntilMs = Math.min(this.#pausedUntilMs, nowMs + maxPauseMs);
    this.#yieldUntilMs = Math.min(this.#yieldUntilMs, nowMs + maxPauseMs);
    for (const perMs of windows) {
      const lowered = this.#lowered.get(perMs) ?? [];
      const cut = lowered.map(({ requests, untilMs }) => ({
        requests,
        untilMs: Math.min(untilMs, nowMs + perMs),
      }));
      this.#lowered.set(perMs, cut);
    }
  }

  #heedPause(orders: Orders, longestWindowMs: number, maxPauseMs: number, nowMs: number, atMs: number): void {
    if (orders.pauseMs > 0) this.#pause(orders.pauseMs, maxPauseMs, atMs);
    // What arrives during a pause belongs to the burst that caused it: it neither doubles it nor ends the count.
    if (nowMs < this.#pausedUntilMs) return;
    if (!orders.isThrottled) {
      this.#hintlessRefusals = 0;
    } else if (orders.pauseMs <= 0) {
      this.#pause(longestWindowMs * 2 ** this.#hintlessRefusals, maxPauseMs, atMs);
      this.#hintlessRefusals = Math.min(this.#hintlessRefusals + 1, MOST_DOUBLINGS);
    }
  }

  #pause(forMs: number, maxPauseMs: number, atMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, atMs + Math.min(forMs, maxPauseMs));
  }

  #lower(perMs: number, requests: number, nowMs: number, atMs: number): void {
    const stricter = (this.#lowered.get(perMs) ?? []).filter(
      (stands) => nowMs < stands.untilMs && stands.requests < requests,
    );
    const kept = stricter.slice(0, MOST_STANDING - 1);
    const mergedRequests = stricter[MOST_STANDING - 1]?.requests ?? requests;
    this.#lowered.set(perMs, [...kept, { requests: mergedRequests, untilMs: atMs + perMs }]);
  }
}
