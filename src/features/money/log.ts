import type { Poll } from "../../kernel/poll/poll.ts";
import type { Log } from "../../kernel/text/log.ts";
import { COST } from "../quota/cost.ts";
import { formatMoney } from "./price.ts";

/** The promise of a spend is as good as `at_most` of its prices. */
export function logCharge({ id, said }: Pick<Poll, "id" | "said">, log: Pick<Log, "warn">): void {
  const cost = COST.of(said);
  if (cost === undefined || cost.units <= cost.reserved) return;
  const [charged, atMost] = [cost.units, cost.reserved].map(formatMoney);
  const fields = { poll: id, charged, atMost, currency: cost.currency };
  log.warn(fields, "the answer cost more than at_most of its price");
}
