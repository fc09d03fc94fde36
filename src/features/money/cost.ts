import type { JudgingPart } from "../../kernel/poll/judging.ts";
import { type Cost, COST as FIELD, MOST_COST } from "../quota/cost.ts";
import { mostOf, type Price, type PricePart } from "./price.ts";
import { wasSent } from "../../kernel/exchange/exchange.ts";
import { contentOf, type JsonBody } from "../../kernel/exchange/json-body.ts";
import { valueAt } from "../../kernel/exchange/json-pointer.ts";
import type { Upstream } from "../../kernel/config/config.ts";
import type { Answer } from "../../kernel/poll/answer.ts";
import type { Reader } from "../../kernel/poll/reader.ts";
import type { Fields } from "../../kernel/text/field.ts";
import { numberIn } from "../values/values.ts";

/** One answer charges no more than this, or a sum would no longer be exact. */
const MOST_UNITS = 1e15;

export const COST: Reader<Cost> = {
  ...FIELD,
  read: ({ answer }) => {
    const { asked, exchange } = answer;
    if (asked.price === undefined || !wasSent(exchange)) return undefined;
    return costOf(asked.price, tellsCost(answer) ? () => answer.json() : NOTHING_SAID);
  },
  unread: ({ price }) => price && costOf(price, NOTHING_SAID),
};

export const COSTS: JudgingPart = {
  of: ({ price }) => (price === undefined ? {} : { readers: [COST] }),
};

/** What a request of this upstream takes of its budgets. */
export function askedOf({ price }: Pick<Upstream, "price">): Fields {
  const mostCost = mostOf(price);
  return mostCost === 0 ? {} : { [MOST_COST.name]: mostCost };
}

const NOTHING_SAID = (): JsonBody => ({ kind: "empty" });

/** An event in the middle of a stream tells what was used by then, and the upstream bills what it has made since. */
function tellsCost({ stream }: Answer): boolean {
  return stream === undefined || stream.events === 0 || stream.end === "complete";
}

/** Of a request that was sent. `json` is asked only where the answer tells the price. */
export function costOf(price: Price, json: () => JsonBody): Cost {
  const units = price.parts.reduce((sum, part) => sum + chargeOf(part, json), 0);
  return { currency: price.currency, units: Math.min(units, MOST_UNITS), reserved: mostOf(price) };
}

function chargeOf(part: PricePart, json: () => JsonBody): number {
  if (part.kind === "request") return part.units;
  const used = numberIn(valueAt(contentOf(json()), part.of));
  return used === undefined || used < 0 ? part.mostUnits : Math.ceil((used * part.units) / part.per);
}
