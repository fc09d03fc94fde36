import { setUsed } from "../state/set-used.ts";
import { formatUnits, unitsOf } from "../money/price.ts";
import type { QuotaProof } from "../../proof/numbers.ts";
import { formatDuration } from "../../kernel/time/duration.ts";
import { type CommandIo, loadOrRefuse } from "../../config/command-line.ts";

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
  const proof = loaded.proof.budgets.find(({ budget }) => budget === name);
  const meant = used.currency === undefined ? (proof?.quota ?? proof?.spend) : proof?.spend;
  const units = meant?.currency === undefined ? used.amount : unitsOf(used.amount);
  const quotaSet = { budget: name, of: meant?.currency === undefined ? "requests" : "money" } as const;
  const fault =
    meant === undefined
      ? `budget "${name}" must be in the config and have a ${used.currency === undefined ? "quota" : "spend"}`
      : (faultOf(used, meant) ??
        (state === undefined
          ? "state.path must be set: without it nothing is kept of a quota"
          : setUsed(state.path, { quota: quotaSet, used: units, nowMs: wallNowMs })));
  if (fault !== undefined || meant === undefined) {
    err(`cannot set what was used: ${fault ?? ""}\n`);
    return 1;
  }
  const { currency, quota: limit } = meant;
  const [shown, most] = [units, limit.most].map((each) => formatUnits(each, currency));
  const money = currency === undefined ? "" : ` ${currency}`;
  out(
    `budget ${name}: ${shown} of ${most}${money} in ${formatDuration(limit.perMs)} count as used, as of now\n`,
  );
  return 0;
}

function faultOf({ amount, currency }: Used, meant: QuotaProof): string | undefined {
  if (currency !== undefined && currency !== meant.currency)
    return `its spend is in ${meant.currency}, received ${currency}`;
  if (meant.currency === undefined && !Number.isSafeInteger(amount))
    return `requests must be a whole number, received ${amount}`;
  return undefined;
}
