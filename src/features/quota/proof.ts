import type { Budget, Config, Upstream } from "../../kernel/config/config.ts";
import { slotsOf } from "../../kernel/schedule/schedule.ts";
import { DAY_MS } from "../../kernel/time/duration.ts";
import type { QuotaProof } from "../../proof/numbers.ts";
import type { Finding, ProofPart } from "../../proof/part.ts";
import { formatMoney } from "../../platform/money.ts";
import { mostOf } from "./price.ts";

declare module "../../proof/numbers.ts" {
  interface BudgetProof {
    readonly quota?: QuotaProof | undefined;
    /** Absent also where no upstream has a price. */
    readonly spend?: QuotaProof | undefined;
  }
}

export const QUOTA_PROOF: ProofPart = {
  quota: {
    kind: "quota",
    of: ({ quota }) => quota,
    unitsOf: () => 1,
    format: String,
    unit: () => "requests",
  },
};

export const SPEND_PROOF: ProofPart = {
  quota: {
    kind: "spend",
    of: ({ spend }) => spend,
    unitsOf: ({ price }) => mostOf(price),
    format: formatMoney,
    unit: (upstreams) => upstreams.find(({ price }) => price !== undefined)?.price?.currency,
  },
  mayBePolledMore: ({ price }) => mostOf(price) === 0,
  faults: priceFaults,
};

/** A spend keeps only what is known to cost something, in its one currency. */
function priceFaults(
  budgets: readonly Budget[],
  byBudget: ReadonlyMap<string, readonly Upstream[]>,
): readonly Finding[] {
  const priced = new Set(budgets.flatMap(({ name, price }) => (price === undefined ? [] : [name])));
  const faults = new Map<Upstream, string>();
  for (const { name, spend } of budgets) {
    const drawing = byBudget.get(name) ?? [];
    const first = drawing.find(({ price }) => price !== undefined);
    for (const upstream of drawing) {
      const { price } = upstream;
      const prices = upstream.budgets.filter((each) => priced.has(each));
      if (price === undefined && prices.length > 1)
        faults.set(
          upstream,
          `draws on budgets that each have a price, "${prices.join('" and "')}": give it the price that counts`,
        );
      else if (spend !== undefined && price === undefined)
        faults.set(
          upstream,
          `has no price, and draws on the spend of budget "${name}": give it or the budget a price, such as { per_request: 0.001, currency: EUR }, or per_request: 0 if it is free`,
        );
      else if (spend !== undefined && price?.currency !== first?.price?.currency)
        faults.set(
          upstream,
          `has a price in ${price?.currency}, and "${first?.name}" one in ${first?.price?.currency}: the spend of budget "${name}" is in one currency`,
        );
    }
  }
  return [...faults].map(([{ name }, why]) => ({
    subject: { kind: "upstream", upstream: name, about: "price" },
    message: `upstream "${name}" ${why}`,
  }));
}

/** The most that all polls cost, by currency. */
export function costsOf({ upstreams }: Pick<Config, "upstreams">): readonly string[] {
  const byCurrency = Map.groupBy(upstreams, ({ price }) => price?.currency);
  return [...byCurrency].flatMap(([currency, priced]) => {
    if (currency === undefined) return [];
    const [day, month] = [DAY_MS, 30 * DAY_MS].map((perMs) => {
      const units = priced.reduce((sum, { schedule, confirm, price }) => {
        const polls = slotsOf(schedule).mostWithin(perMs) * (1 + confirm);
        return sum + polls * mostOf(price);
      }, 0);
      return `${formatMoney(units)} ${currency}`;
    });
    const isTold = priced.some(({ price }) => price?.parts.some(({ kind }) => kind === "answer"));
    const but = isTold
      ? "; an answer that costs more than the at_most of its price is charged all the same"
      : "";
    return [`all polls cost at most ${day} a day and ${month} in 30d, confirmations included${but}`];
  });
}
