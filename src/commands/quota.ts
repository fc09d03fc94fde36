import { setUsed } from "../adapters/sqlite/set-used.ts";
import { spendOf } from "../core/budget/quotas.ts";
import { formatMoney, unitsOf } from "../core/config/price.ts";
import type { BudgetProof } from "../core/proof/numbers.ts";
import { formatDuration } from "../core/time/duration.ts";
import { type CommandIo, loadOrRefuse } from "./loading.ts";

/** Requests, or an amount of money, which may be without its currency where the budget has no quota of requests. */
export type Used = { readonly amount: number; readonly currency: string | undefined };

export type QuotaOptions = CommandIo & {
  readonly budget: string;
  readonly used: Used;
  readonly wallNowMs: number;
};

/** Says what was used of a quota, by whoever knows it better than the state file: the provider's own page. */
export async function quota(options: QuotaOptions): Promise<number> {
  const { budget: name, used, wallNowMs, out, err } = options;
  const loaded = await loadOrRefuse(options, "structure");
  if (loaded === undefined) return 1;
  const { state } = loaded.config;
  const meant = meantIn(
    loaded.proof.budgets.find(({ budget }) => budget === name),
    name,
    used,
  );
  const fault =
    typeof meant === "string"
      ? meant
      : state === undefined
        ? "state.path must be set: without it nothing is kept of a quota"
        : setUsed(state.path, { budget: meant.quota, used: meant.units, nowMs: wallNowMs });
  if (fault !== undefined || typeof meant === "string") {
    err(`cannot set what was used: ${fault ?? ""}\n`);
    return 1;
  }
  out(`budget ${name}: ${meant.shown} count as used, as of now\n`);
  return 0;
}

type Meant = { readonly quota: string; readonly units: number; readonly shown: string };

/** Why it can be none of the budget's quotas, in words. */
function meantIn(
  { quota, spend }: Partial<Pick<BudgetProof, "quota" | "spend">> = {},
  name: string,
  { amount, currency }: Used,
): Meant | string {
  if (spend !== undefined && (quota === undefined || currency !== undefined)) {
    if (currency !== undefined && currency !== spend.currency)
      return `the spend of budget "${name}" is in ${spend.currency}, received ${currency}`;
    const { most, perMs } = spend.quota;
    const units = unitsOf(amount);
    const shown = `${formatMoney(units)} of ${formatMoney(most)} ${spend.currency} in ${formatDuration(perMs)}`;
    return { quota: spendOf(name), units, shown };
  }
  if (quota === undefined || currency !== undefined) {
    const what = currency === undefined ? "a quota" : "a spend";
    return `budget "${name}" must be in the config and have ${what}`;
  }
  if (!Number.isSafeInteger(amount)) return `requests must be a whole number, received ${amount}`;
  const { most, perMs } = quota.quota;
  return { quota: name, units: amount, shown: `${amount} of ${most} in ${formatDuration(perMs)}` };
}
