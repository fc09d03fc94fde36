import { formatUnits, unitsOf } from "../../platform/money.ts";
import type { QuotaProof } from "../../proof/numbers.ts";
import type { Note } from "../../kernel/text/notes.ts";
import { allUsed, type KeptQuotas, type QuotaKey, quotaNotes, quotasIn } from "./quota.ts";
import { formatDuration, hourOf } from "../../kernel/time/duration.ts";
import { type CommandIo, loadOrRefuse } from "../../config/command-line.ts";

/** Requests, or an amount of money, which may be without its currency where the budget has no quota of requests. */
export type Used = { readonly amount: number; readonly currency: string | undefined };

export type QuotaOptions = CommandIo & {
  readonly budget: string;
  readonly used: Used;
  readonly wallNowMs: number;
  readonly rewrite: Rewrite;
};

/** Replaces the notes of a state file. Returns why it cannot. */
export type Rewrite = (
  path: string,
  change: (notes: readonly Note[], isLoss: boolean) => readonly Note[],
) => string | undefined;

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
          : options.rewrite(state.path, (notes, isLoss) =>
              withUsed(quotasIn([{ notes }]), isLoss, { quota: quotaSet, used: units, nowMs: wallNowMs }),
            )));
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

type Set = { readonly quota: QuotaKey; readonly used: number; readonly nowMs: number };

/** In place of all that was counted of this quota. */
export function withUsed(read: KeptQuotas, isLoss: boolean, { quota, used, nowMs }: Set): readonly Note[] {
  const counted = isLoss ? allUsed(read, nowMs) : read;
  const isOwn = ({ budget, of }: QuotaKey): boolean => budget === quota.budget && of === quota.of;
  // What was lost counts for each quota that has no count of its own in that hour.
  const gone = [...counted.rows.filter(isOwn).map(({ hour }) => hour), ...counted.lostHours];
  const byHour = new Map([...gone.map((hour) => [hour, 0] as const), [hourOf(nowMs), used]]);
  const own = [...byHour].map(([hour, requests]) => ({ ...quota, hour, requests, unconfirmed: 0 }));
  return quotaNotes({ ...counted, rows: [...counted.rows.filter((row) => !isOwn(row)), ...own] });
}

function faultOf({ amount, currency }: Used, meant: QuotaProof): string | undefined {
  if (currency !== undefined && currency !== meant.currency)
    return `its spend is in ${meant.currency}, received ${currency}`;
  if (meant.currency === undefined && !Number.isSafeInteger(amount))
    return `requests must be a whole number, received ${amount}`;
  return undefined;
}
