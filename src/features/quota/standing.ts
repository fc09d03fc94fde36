import type { QuotaKey } from "./quota.ts";
import type { Quotas } from "./quotas.ts";
import { UNITS_OF_MONEY } from "../money/price.ts";

/** In whole currencies where it has one, else in requests. */
export type QuotaSnapshot = {
  readonly limit: number;
  readonly perMs: number;
  readonly used: number;
  /** Those of them that were in flight when Pacewatch was killed: they may have been sent, or not. */
  readonly unconfirmed: number;
  /** What the schedules need in one period. */
  readonly forecast: number;
  readonly currency?: string;
  /** Too little is left for one more poll of the dearest until then. Wall clock; absent while there is enough. */
  readonly noRoomUntilMs?: number;
};

/** How this process counts one quota; undefined where there is none. */
export function quotaStanding(
  quotas: Quotas,
  { budget, of }: QuotaKey,
  { dearest, currency }: { readonly dearest: number; readonly currency?: string | undefined },
  nowMs: number,
): Omit<QuotaSnapshot, "forecast"> | undefined {
  const count = quotas.of(budget, of);
  const { limit, used = 0, unconfirmed = 0 } = count;
  if (limit === undefined) return undefined;
  const unit = currency === undefined ? 1 : UNITS_OF_MONEY;
  const noRoomUntilMs = count.noRoomUntilMs(dearest);
  return {
    limit: limit.most / unit,
    perMs: limit.perMs,
    used: used / unit,
    unconfirmed: unconfirmed / unit,
    ...(currency !== undefined && { currency }),
    ...(noRoomUntilMs !== undefined && { noRoomUntilMs: noRoomUntilMs - quotas.calendar.now() + nowMs }),
  };
}
