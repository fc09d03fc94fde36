import type { Upstream } from "../../kernel/config/config.ts";
import type { Running } from "../../kernel/metrics/snapshot.ts";
import { mostOf } from "./price.ts";
import type { QuotaKey } from "./quota.ts";
import type { Quotas } from "./quotas.ts";
import { humanDuration, inThousands } from "../../platform/humanize.ts";
import { UNITS_OF_MONEY } from "../../platform/money.ts";
import { type Burn, worstBurn } from "../history/credit.ts";
import { endSentence, moment } from "../history/credit-sentence.ts";

/** In whole currencies where it has one, else in requests. */
export type QuotaSnapshot = {
  readonly limit: number;
  readonly perMs: number;
  readonly used: number;
  /** Those of them that were in flight when Pacewatch was killed: they may have been sent, or not. */
  readonly unconfirmed: number;
  /** The schedules need so much in one period. */
  readonly forecast: number;
  readonly currency?: string;
  /** Too little is left for one more poll of the dearest until then. Wall clock; absent while there is enough. */
  readonly noRoomUntilMs?: number;
};

type Standing = Omit<QuotaSnapshot, "forecast">;

/** How this process counts one quota; undefined where there is none. */
export function quotaStanding(
  quotas: Quotas,
  { budget, of }: QuotaKey,
  { dearest, currency }: { readonly dearest: number; readonly currency?: string | undefined },
  nowMs: number,
): Standing | undefined {
  const count = quotas.of(budget, of);
  if (count?.limit === undefined) return undefined;
  const { limit, used = 0, unconfirmed = 0 } = count;
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

/** Why too little is left of a budget for a request of this upstream; undefined while there is enough. */
export function usedUp(
  { price }: Upstream,
  budget: string,
  { quotas, nowMs }: Omit<Running, "config">,
): string | undefined {
  if (quotas === undefined) return undefined;
  const money = { dearest: mostOf(price), currency: price?.currency };
  const spend = usedUpWords(quotaStanding(quotas, { budget, of: "money" }, money, nowMs), nowMs);
  const quota = quotaStanding(quotas, { budget, of: "requests" }, { dearest: 1 }, nowMs);
  return spend ?? usedUpWords(quota, nowMs);
}

/** When a quota is used up: it refills by itself. Of our own, the amounts are known. */
export function quotaSentence(burns: readonly Burn[], nowMs: number, standing?: Standing): string {
  const sentence = endSentence(burns, nowMs, {
    empty: "Too little is left for another poll.",
    lasts: "At the present pace it refills before it is empty.",
    unknown: "Its pace is not known yet: that takes an hour or two, or up to a day with polls hours apart.",
  });
  if (standing === undefined || worstBurn(burns)?.emptyAtMs === undefined) return sentence;
  return `${sentence.slice(0, -1)}: ${usedUpWords(standing, nowMs) ?? usedWords(standing)}.`;
}

/** `4.99 of 5.00 EUR used in 30 d; there is room again on Tuesday about 14:00 UTC`; undefined while there is room. */
export function usedUpWords(standing: Standing | undefined, nowMs: number): string | undefined {
  if (standing?.noRoomUntilMs === undefined) return undefined;
  return `${usedWords(standing)}; there is room again ${moment(standing.noRoomUntilMs, nowMs)}`;
}

function usedWords({ limit, used, perMs, currency }: Standing): string {
  const [taken, most] = [used, limit].map((amount) => amountText(amount, currency));
  return `${taken} of ${most} ${currency ?? "requests"} used in ${humanDuration(perMs)}`;
}

/** Cents, and of less than one what matters of it; whole requests where it has no currency. */
export function amountText(amount: number, currency: string | undefined): string {
  if (currency === undefined) return inThousands(Math.round(amount));
  return amount === 0 || amount >= 1 ? amount.toFixed(2) : String(Number(amount.toPrecision(2)));
}
