/** When there are slots, in real time. */
export interface Slots {
  /** By which it is found again. */
  readonly text: string;
  /** The long-run average. */
  readonly slotsPerDay: number;
  readonly usualGapMs: number;
  readonly shortestGapMs: number;
  readonly longestGapMs: number;
  /** All gaps are the same. */
  readonly isEven: boolean;
  /** The part of all time in which it has slots at its usual gap: less than 1 by its nights and weekends. */
  readonly watchedRatio: number;
  /** The first slot strictly after this moment. There always is one. Wall clock. */
  next(wallMs: number): number;
  /** The slots in (fromMs, toMs]. */
  countBetween(fromMs: number, toMs: number): number;
  /** The most slots in any half-open window of this length, or a little more. */
  mostWithin(windowMs: number): number;
}
