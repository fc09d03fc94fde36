import type { QuotaKey } from "../quota/quota.ts";
import type { Quotas } from "../quota/quotas.ts";
import { UNITS_OF_MONEY } from "../money/price.ts";
import type { QuotaSnapshot } from "../../kernel/metrics/snapshot.ts";

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
