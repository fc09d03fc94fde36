import { DAY_MS, HOUR_MS, SECOND_MS } from "../time/duration.ts";
import type { ZoneSpan } from "../time/time-zone.ts";
import type { CronExpression } from "./cron-expression.ts";
import type { Slots } from "./slots.ts";

/** In a part of real time, local slots fall so far from UTC. Parts that make up for a skipped hour overlap the next. */
type Part = ZoneSpan & { readonly isSkipped: boolean };

export type Zone = { readonly name: string; readonly spans: readonly ZoneSpan[] };

const ALWAYS: ZoneSpan = { fromMs: Number.NEGATIVE_INFINITY, toMs: Infinity, offsetMs: 0 };

/**
 * When there are slots, in real time: a cron expression in UTC, or in a time zone whose offset may change. At a change of
 * daylight saving, a slot at a fixed hour comes once: where its hour is skipped, as long after the change as it would have
 * been without; where its hour comes twice, in the first. An expression for every hour runs on.
 *
 *     local   01 ─── 02 ─── 03 ─── 04          01 ─── 02 ─── 02 ─── 03
 *     30 2            └──────▶ ●                       ●
 *     30 *        ●            ●                  ●    ●      ●
 */
export class Cron implements Slots {
  /** Six fields, one space between them, and the time zone where it is not UTC. */
  readonly text: string;
  readonly #local: CronExpression;
  readonly #parts: readonly Part[];
  /** The longest that a change adds or takes. */
  readonly #widestMs: number;
  /** In real time nothing changes with the zone. */
  readonly #isSteady: boolean;
  readonly #most = new Map<number, number>();
  #aroundChanges: readonly (readonly number[])[] | undefined;

  constructor(local: CronExpression, zone?: Zone) {
    const { spans = [ALWAYS] } = zone ?? {};
    const changes = spans.slice(1).map(({ offsetMs }, index) => offsetMs - (spans[index]?.offsetMs ?? 0));
    this.text = zone === undefined ? local.text : `${local.text} ${zone.name}`;
    this.#local = local;
    this.#parts = local.everyHour ? spans.map((span) => ({ ...span, isSkipped: false })) : partsOf(spans);
    this.#widestMs = Math.max(0, ...changes.map(Math.abs));
    this.#isSteady =
      changes.length === 0 ||
      (local.everyHour && local.days.everyDay && changes.every((change) => change % HOUR_MS === 0));
  }

  /** Only days that match both day fields count, unlike in classic cron. */
  get restrictsBothDayFields(): boolean {
    return this.#local.days.restrictsBoth;
  }

  get slotsPerDay(): number {
    return this.#local.gaps.slotsPerDay;
  }

  get usualGapMs(): number {
    return this.#local.gaps.usualMs;
  }

  get watchedRatio(): number {
    return Math.min(1, (this.slotsPerDay * this.usualGapMs) / DAY_MS);
  }

  get isEven(): boolean {
    return this.#isSteady && this.#local.gaps.isEven;
  }

  get longestGapMs(): number {
    return this.#local.gaps.longestMs + (this.#isSteady ? 0 : this.#widestMs);
  }

  get shortestGapMs(): number {
    const shortestGapMs = this.#local.gaps.shortestMs;
    if (this.#isSteady) return shortestGapMs;
    if (shortestGapMs > this.#widestMs) return shortestGapMs - this.#widestMs;
    const gaps = this.#slotsAroundChanges.flatMap((slots) =>
      slots.slice(1).map((atMs, index) => atMs - (slots[index] ?? 0)),
    );
    return gaps.reduce((least, gap) => Math.min(least, gap), shortestGapMs);
  }

  next(wallMs: number): number {
    if (!Number.isFinite(wallMs)) return Infinity;
    let first = Infinity;
    for (const part of this.#parts) {
      if (part.toMs <= wallMs) continue;
      if (part.fromMs > first) break;
      first = Math.min(first, this.#nextIn(part, wallMs));
    }
    return first;
  }

  countBetween(fromMs: number, toMs: number): number {
    if (!Number.isFinite(fromMs) || !Number.isFinite(toMs)) return 0;
    let count = 0;
    for (const [index, part] of this.#parts.entries()) {
      const [from, to] = [Math.max(fromMs, part.fromMs - 1), Math.min(toMs, part.toMs - 1)];
      if (to <= from) continue;
      count += this.#local.countBetween(from + part.offsetMs, to + part.offsetMs);
      const next = this.#parts[index + 1];
      if (!part.isSkipped || next === undefined) continue;
      // What falls on a slot that is there anyway is one.
      for (let at = this.#nextIn(part, from); at <= to; at = this.#nextIn(part, at)) {
        if (this.#nextIn(next, at - 1) === at) count -= 1;
      }
    }
    return count;
  }

  /**
   * The most slots in any half-open window of this length. Around a change it is exact up to an hour, as long as a change
   * lasts; for longer windows it can be a little too many, but never too few.
   */
  mostWithin(windowMs: number): number {
    if (this.#isSteady) return this.#local.mostWithin(windowMs);
    const known = this.#most.get(windowMs);
    if (known !== undefined) return known;
    const most = windowMs <= HOUR_MS ? this.#mostAroundChanges(windowMs) : this.#mostOverChanges(windowMs);
    this.#most.set(windowMs, most);
    return most;
  }

  #mostAroundChanges(windowMs: number): number {
    let most = this.#local.mostWithin(windowMs);
    for (const slots of this.#slotsAroundChanges) {
      let first = 0;
      for (const [index, atMs] of slots.entries()) {
        while (atMs - (slots[first] ?? 0) >= windowMs) first += 1;
        most = Math.max(most, index - first + 1);
      }
    }
    return most;
  }

  #mostOverChanges(windowMs: number): number {
    const local = this.#local;
    if (!local.everyHour) return local.mostWithin(windowMs + this.#widestMs);
    const starts = this.#parts.slice(1).map(({ fromMs }) => fromMs);
    const changes = starts.map((from) => starts.filter((at) => at >= from && at < from + windowMs).length);
    return local.mostWithin(windowMs) + Math.max(0, ...changes) * local.mostWithin(this.#widestMs);
  }

  /** All slots within an hour of a change, once for changes that are alike to this expression. */
  get #slotsAroundChanges(): readonly (readonly number[])[] {
    if (this.#aroundChanges !== undefined) return this.#aroundChanges;
    const distinct = new Map<string, readonly number[]>();
    for (const { fromMs } of this.#parts.slice(1)) {
      const slots: number[] = [];
      const endMs = fromMs + this.#widestMs + HOUR_MS;
      for (let at = this.next(fromMs - HOUR_MS - 1); at <= endMs; at = this.next(at)) slots.push(at);
      distinct.set(slots.map((at) => at - fromMs).join(), slots);
    }
    this.#aroundChanges = [...distinct.values()];
    return this.#aroundChanges;
  }

  #nextIn({ fromMs, toMs, offsetMs }: Part, wallMs: number): number {
    const atMs = this.#local.next(Math.max(wallMs, fromMs - SECOND_MS) + offsetMs) - offsetMs;
    return atMs < toMs ? atMs : Infinity;
  }
}

function partsOf(spans: readonly ZoneSpan[]): readonly Part[] {
  return spans.flatMap((span, index) => {
    const { fromMs, offsetMs } = span;
    const beforeMs = spans[index - 1]?.offsetMs ?? offsetMs;
    const skippedMs = offsetMs - beforeMs;
    const part = { ...span, isSkipped: false };
    if (skippedMs < 0) return [{ ...part, fromMs: fromMs - skippedMs }];
    if (skippedMs === 0) return [part];
    return [{ fromMs, toMs: fromMs + skippedMs, offsetMs: beforeMs, isSkipped: true }, part];
  });
}
