/** What a request costs, in billionths of the currency of its price. */

import type { Upstream } from "../../kernel/config/config.ts";
import { wasSent } from "../../kernel/exchange/exchange.ts";
import { contentOf, type JsonBody } from "../../kernel/exchange/json-body.ts";
import { valueAt } from "../../kernel/exchange/json-pointer.ts";
import { numberIn } from "../../kernel/exchange/json-value.ts";
import type { Answer } from "../../kernel/poll/answer.ts";
import type { JudgingPart } from "../../kernel/poll/judging.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import { type Reader, reader } from "../../kernel/poll/reader.ts";
import { type Field, field, type Fields } from "../../kernel/text/field.ts";
import type { Log } from "../../kernel/text/log.ts";
import { formatMoney } from "../../platform/money.ts";
import type { Tally } from "../history/state.ts";
import { mostOf, type Price, type PricePart } from "./price.ts";

export type Cost = {
  readonly currency: string;
  readonly units: number;
  /** So much was reserved for it. */
  readonly reserved: number;
};

/** One answer charges no more than this, or a sum would no longer be exact. */
const MOST_UNITS = 1e15;

export const COST: Reader<Cost> = {
  ...reader("cost", ({ answer }) => {
    const { upstream, exchange } = answer;
    if (upstream.price === undefined || !wasSent(exchange)) return undefined;
    return costOf(upstream.price, tellsCost(answer) ? () => answer.json() : NOTHING_SAID);
  }),
  unread: ({ price }) => price && costOf(price, NOTHING_SAID),
};

export const COSTS: JudgingPart = {
  of: ({ price }) => (price === undefined ? {} : { readers: [COST] }),
};

/** The most that a request may cost; absent where that is nothing. */
export const MOST_COST: Field<number> = field("mostCost");

/** Each request of this upstream takes so much of its budgets. */
export function askedOf({ price }: Pick<Upstream, "price">): Fields {
  const mostCost = mostOf(price);
  return mostCost === 0 ? {} : { [MOST_COST.name]: mostCost };
}

const NOTHING_SAID = (): JsonBody => ({ kind: "empty" });

/** An event in the middle of a stream tells what was used by then, and the upstream bills what it has made since. */
function tellsCost({ stream }: Answer): boolean {
  return stream === undefined || stream.events === 0 || stream.end === "complete";
}

/** The request was sent. `json` is asked only where the answer tells the price. */
export function costOf(price: Price, json: () => JsonBody): Cost {
  const units = price.parts.reduce((sum, part) => sum + chargeOf(part, json), 0);
  return { currency: price.currency, units: Math.min(units, MOST_UNITS), reserved: mostOf(price) };
}

function chargeOf(part: PricePart, json: () => JsonBody): number {
  if (part.kind === "request") return part.units;
  const used = numberIn(valueAt(contentOf(json()), part.of));
  return used === undefined || used < 0 ? part.mostUnits : Math.ceil((used * part.units) / part.per);
}

/** The promise of a spend is as good as `at_most` of its prices. */
export function logCharge({ id, said }: Pick<Poll, "id" | "said">, log: Pick<Log, "warn">): void {
  const cost = COST.of(said);
  if (cost === undefined || cost.units <= cost.reserved) return;
  const [charged, atMost] = [cost.units, cost.reserved].map(formatMoney);
  const fields = { poll: id, charged, atMost, currency: cost.currency };
  log.warn(fields, "the answer cost more than at_most of its price");
}

/** The state file adds it up for the report. */
export function spentBy({ said }: Pick<Poll, "said">): Tally | undefined {
  const cost = COST.of(said);
  return cost && { name: cost.currency, units: cost.units };
}
