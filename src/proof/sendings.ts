import { type Config, SAFE_METHODS } from "../kernel/config/config.ts";
import { slotsOf } from "../kernel/schedule/schedule.ts";
import { formatMoney, mostOf } from "../features/money/price.ts";
import { DAY_MS } from "../kernel/time/duration.ts";

/** How often each request is sent at most that is not safe: it may do something, or cost something. */
export function unsafeSendings({ upstreams }: Pick<Config, "upstreams">): readonly string[] {
  return upstreams.flatMap(({ name, method = "GET", schedule, confirm }) => {
    if (SAFE_METHODS.has(method)) return [];
    const slots = slotsOf(schedule).mostWithin(DAY_MS);
    const confirmed =
      confirm === 0
        ? "none confirmed"
        : confirm === 1
          ? "each confirmed at most once"
          : `each confirmed up to ${confirm} times`;
    return [
      `upstream ${name} sends ${method} up to ${slots * (1 + confirm)} times a day: ${slots} slots, ${confirmed}`,
    ];
  });
}

/** What all polls cost at most, by currency. */
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
