import type { BudgetSnapshot } from "../../kernel/metrics/snapshot.ts";
import { type Field, field, type Fields } from "../../kernel/text/field.ts";
import { worstBurn } from "../history/credit.ts";
import type { QuotaForecast } from "./quota-forecast.ts";
import { type QuotaSnapshot, quotaSentence } from "./standing.ts";

type QuotaEnd = QuotaForecast & {
  /** For people: "At the pace of the last day, empty on Tuesday about 14:00 UTC." */
  readonly sentence: string;
  /** By the worst pace; undefined if it is not in sight. */
  readonly emptyAtMs: number | undefined;
};

export const QUOTA: Field<QuotaSnapshot> = field("quota");
export const SPEND: Field<QuotaSnapshot> = field("spend");
/** When they are used up: our own, and those of a day and more that answers tell. Absent where there is none. */
export const QUOTAS: Field<readonly QuotaEnd[]> = field("quotas");

export function quotaFacts({ quota, spend, quotas = [] }: BudgetSnapshot, nowMs: number): Fields {
  const ours: Partial<Record<QuotaForecast["quota"], QuotaSnapshot | undefined>> = { own: quota, spend };
  const ends = quotas.map(({ quota: name, burns }): QuotaEnd => ({
    quota: name,
    sentence: quotaSentence(burns, nowMs, ours[name]),
    emptyAtMs: worstBurn(burns)?.emptyAtMs,
    burns,
  }));
  return {
    [QUOTA.name]: quota,
    [SPEND.name]: spend,
    [QUOTAS.name]: ends.length > 0 ? ends : undefined,
  };
}

export function quotaEnds(
  budget: Fields,
): readonly { readonly name: string; readonly sentence: string; readonly atMs: number | undefined }[] {
  const ends = QUOTAS.of(budget) ?? [];
  return ends.map(({ quota, sentence, emptyAtMs }) => ({ name: quota, sentence, atMs: emptyAtMs }));
}
