/**
 * What is left of one value, out of answers that do not agree: a single one may be wrong, servers lag behind each other,
 * and what is spent is refilled.
 */

import { type Burn, burnsOf, LONGEST_WINDOW_MS, type ValuePoint } from "./credit.ts";
import { HOUR_MS, hourOf, MINUTE_MS } from "../../kernel/time/duration.ts";

const STEP_MS = 5 * MINUTE_MS;

/** A change of less than this part of the value is noise, or too little to matter. */
const LEAST_JUMP = 0.1;
/**
 * A value that is back where it was within this time was neither spent nor refilled: two polls an hour apart are
 * closer.
 */
const FLAP_MS = 3 * HOUR_MS;
const MOST_JUMPS = 40;

type Seen = { readonly atMs: number; readonly value: number; readonly refillsAtMs?: number | undefined };

export type Answer = Omit<Seen, "atMs"> & { readonly isCredit?: boolean | undefined };

/** A change that is no noise. */
type Jump = { readonly from: ValuePoint; readonly to: number };

/** One value over a week: of the last hour a point each five minutes, before that one each hour. */
export class ValueTrack {
  points: ValuePoint[];
  #jumps: readonly Jump[] = [];
  /** The last values as they came: three, or those of a credit. */
  #recent: readonly Seen[];
  /** The value as it came last. */
  seen: Seen | undefined;
  #burns: readonly Burn[] | undefined;

  constructor(points: readonly ValuePoint[] = []) {
    this.points = [...points];
    this.seen = points.at(-1);
    this.#recent = this.seen === undefined ? [] : [this.seen];
  }

  /**
   * Belongs to what was left then: after a refill, the next one is no excuse for the old remainder. A restart forgets
   * when that was; it is over if more is left now.
   */
  get refillsAtMs(): number | undefined {
    const steady = middleOf(this.#recent);
    const isOver = steady !== undefined && this.seen !== undefined && this.seen.value > steady.value;
    return steady?.refillsAtMs ?? (isOver ? steady.atMs : this.seen?.refillsAtMs);
  }

  /** Computed once for all who ask before the next poll. */
  get burns(): readonly Burn[] {
    return (this.#burns ??= burnsOf(this.points, this.seen?.atMs));
  }

  add(atMs: number, { isCredit = false, ...answer }: Answer): void {
    // After the clock was set back, nobody knows when these were.
    while ((this.points.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) >= atMs) this.points.pop();
    const [pace] = isCredit ? this.burns : [];
    this.seen = { atMs, ...answer };
    this.#burns = undefined;
    this.#recent = recentOf([...this.#recent.filter((seen) => seen.atMs < atMs), this.seen], isCredit);
    const newest = this.points.at(-1);
    const steady =
      (isCredit ? lowOf(this.#recent, newest, pace?.perSecond) : middleOf(this.#recent)) ?? this.seen;
    const refilled = this.#refilledAt(atMs, steady.value);
    const isNews = newest === undefined || steady.atMs > newest.atMs;
    // The lowest of several servers may have told it a while ago.
    if (isCredit && !isNews && atMs - newest.atMs < 2 * STEP_MS) return;
    if (newest !== undefined && newest.atMs - (this.points.at(-2)?.atMs ?? 0) < STEP_MS) this.points.pop();
    else this.#thin(atMs);
    this.points.push({ atMs: isCredit && isNews ? steady.atMs : atMs, value: steady.value, refilled });
  }

  /** Sums what was added until now. A value that only returns to where it was lately had nothing added, nor spent. */
  #refilledAt(atMs: number, value: number): number {
    const from = this.points.at(-1);
    if (from === undefined) return 0;
    const noise = LEAST_JUMP * Math.max(Math.abs(value), Math.abs(from.value));
    if (Math.abs(value - from.value) <= noise) return from.refilled;
    const lately = this.#jumps.filter((jump) => atMs - jump.from.atMs <= FLAP_MS);
    this.#jumps = [...lately, { from, to: value }].slice(-MOST_JUMPS);
    const undone = lately.filter((jump) => takesBack(from.value, value, jump, noise));
    // Only what no earlier value explains counts as added.
    const origins = [from, ...undone.map((jump) => jump.from)];
    return Math.min(...origins.map((origin) => origin.refilled + Math.max(0, value - origin.value)));
  }

  /** Older than an hour, the last of each hour is enough. */
  #thin(nowMs: number): void {
    const closeFromMs = nowMs - HOUR_MS - STEP_MS;
    const fromMs = nowMs - LONGEST_WINDOW_MS - HOUR_MS;
    this.points = this.points.filter((point, index) => {
      if (point.atMs >= closeFromMs) return true;
      const next = this.points[index + 1];
      return point.atMs >= fromMs && (next === undefined || hourOf(next.atMs) !== hourOf(point.atMs));
    });
  }
}

/**
 * A rise that ends no higher than where a fall began takes that fall back. But what was added may be spent within the hour:
 * only a fall straight back to where a rise began takes that rise back.
 */
function takesBack(from: number, to: number, jump: Jump, noise: number): boolean {
  const aboveOrigin = to - jump.from.value;
  if (to > from) return jump.to < jump.from.value && aboveOrigin <= noise;
  return Math.abs(aboveOrigin) <= noise && Math.abs(from - jump.to) <= noise;
}

/** A single answer that says something else, such as 0, moves nothing. */
function middleOf(recent: readonly Seen[]): Seen | undefined {
  return recent.length < 3 ? recent[0] : recent.toSorted((a, b) => a.value - b.value)[1];
}

function recentOf(seen: readonly Seen[], isCredit: boolean): readonly Seen[] {
  if (!isCredit) return seen.slice(-3);
  const fromMs = (seen.at(-1)?.atMs ?? 0) - LATELY_MS;
  const lately = seen.slice(-SERVERS_SEEN_WITHIN);
  return sinceRefill(lately.filter(({ atMs }, index) => atMs >= fromMs || index >= lately.length - 3));
}

/** Of five servers that answer by chance, each is among so many answers twice, but for one time in two million. */
const SERVERS_SEEN_WITHIN = 80;
const LATELY_MS = 45 * MINUTE_MS;

/**
 * Servers that lag behind tell more than is left, so the lowest tells it best; of a single answer that is lower than all
 * others, nothing is believed.
 */
function lowOf(
  recent: readonly Seen[],
  newest: ValuePoint | undefined,
  perSecond: number = 0,
): Seen | undefined {
  if (recent.length < 3) return recent[0];
  const lowest = (perMs: number): Seen | undefined => {
    const left = ({ value, atMs }: Seen): number => value + perMs * (atMs - (recent[0]?.atMs ?? 0));
    return recent.toSorted((a, b) => left(a) - left(b) || b.atMs - a.atMs)[1];
  };
  const low = lowest(0);
  const isFalling = low !== undefined && newest !== undefined && low.value <= newest.value;
  return isFalling ? lowest((perSecond * LEAST_PART_OF_PACE) / 1_000) : low;
}

/**
 * Of what was spent in the last hour, so much surely goes on: a server that has not answered for a while still knows
 * better than one that lags by more than that. If less is spent now, what is told is up to 45 minutes old.
 */
const LEAST_PART_OF_PACE = 0.75;

/**
 * Lower values that the last three no longer tell, and that nothing higher came before, were refilled since; one stretch of
 * much lower ones was never true. Servers that answer in turn tell the lower ones again and again.
 */
function sinceRefill(recent: readonly Seen[]): readonly Seen[] {
  const least = Math.min(...recent.slice(-3).map(({ value }) => value));
  const isLower = ({ value }: Seen): boolean => value < least - LEAST_JUMP * Math.abs(least);
  const [first, last] = [recent.findIndex(isLower), recent.findLastIndex(isLower)];
  const stretch = first < 0 ? [] : recent.slice(first, last + 1);
  if (!stretch.every(isLower)) return recent;
  const isOver = first === 0 || stretch.every(({ value }) => value < least / 2);
  return isOver ? recent.toSpliced(first, stretch.length) : recent;
}
