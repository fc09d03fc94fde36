/**
 * Polls have a price, and budgets may send so many requests and spend so much. Money is written in whole currencies, and
 * counted in billionths.
 */

import { z } from "zod";
import {
  decoded,
  duration,
  matching,
  named,
  oneOf,
  oneOrMore,
  pointer,
  section,
  wholeNumber,
} from "../../config/keys/leaves.ts";
import type { Rule } from "../../config/keys/notes.ts";
import { exactlyOne, itemsOf, mappingOf, ruled, together } from "../../config/keys/rules.ts";
import type { Section } from "../../config/schema/section.ts";
import type { Budget } from "../../kernel/config/config.ts";
import { partOf } from "../../kernel/config/part.ts";
import { DAY_MS, HOUR_MS } from "../../kernel/time/duration.ts";
import { unitsOf } from "../../platform/money.ts";
import type { Quota } from "../../proof/part.ts";
import type { Price, PricePart } from "./price.ts";

declare module "../../kernel/config/config.ts" {
  interface Budget {
    /** A vantage has only its part. */
    readonly quota?: Quota | undefined;
    /** Of money, in the currency of the prices of its upstreams; of a vantage only its part. */
    readonly spend?: Quota | undefined;
    /** It is that of its upstreams that have none of their own. */
    readonly price?: Price | undefined;
  }
  interface Upstream {
    /** Its own or its budget's; absent where nobody says. */
    readonly price?: Price | undefined;
  }
}

const MOST_PARTS = 10;
const CURRENCY = matching(/^[A-Z]{3}$/, "a currency's three letters, such as EUR");

/** Below a billionth, money would be counted as none. */
function amount(least: number, most: number): z.ZodType<number, number> {
  const error = `a number from ${least === 0 ? 0 : "0.000000001"} to ${most}`;
  return z.number({ error }).min(least, { error }).max(most, { error });
}

function money(least: 0 | 1e-9): z.ZodType<number> {
  return decoded(amount(least, 1_000_000), unitsOf);
}

const part = ruled(
  section(
    {
      per_request: money(0).optional().describe("What each request costs, whatever its answer."),
      of: pointer("a JSON pointer, such as /usage/total_tokens", { least: 1 })
        .optional()
        .describe("Or where the answer tells how much was used, as a JSON pointer (RFC 6901)."),
      per: amount(1e-9, 1e12).optional().describe("So much of what stands there costs what `is` says."),
      is: money(0).optional().describe("What that much costs."),
      at_most: money(0)
        .optional()
        .describe(
          "The most that one poll may cost by this. It is reserved before the poll is sent, and charged where no answer tells what it did cost.",
        ),
      currency: CURRENCY.describe(
        "Its three letters (ISO 4217). All that count against one spend have the same.",
      ),
    },
    "a mapping such as { per_request: 0.0001, currency: EUR }",
  ),
  exactlyOne("per_request", "of"),
  together("of", "per", "is", "at_most"),
);

const oneCurrency: Rule = {
  check: (parts, refuse) => {
    const [first] = itemsOf(parts);
    for (const [index, each] of itemsOf(parts).entries()) {
      if (mappingOf(each)["currency"] !== mappingOf(first)["currency"])
        refuse([index, "currency"], "must be the currency of the other parts of its price");
    }
  },
};

type WrittenPart = z.output<typeof part>;

const priceSchema: z.ZodType<Price> = decoded(
  ruled(
    oneOrMore(
      part,
      "a price, such as { per_request: 0.0001, currency: EUR }, or a list of prices that are added",
      MOST_PARTS,
      "parts of a price",
    ),
    oneCurrency,
  ),
  (parts) => ({ currency: parts[0]?.currency ?? "", parts: parts.map(pricePartOf) }),
);

function pricePartOf({ per_request, of, per = 1, is = 0, at_most = 0 }: WrittenPart): PricePart {
  if (of === undefined) return { kind: "request", units: per_request ?? 0 };
  return { kind: "answer", of, per, units: is, mostUnits: at_most };
}

const quotaKeys = {
  per: duration(HOUR_MS, 366 * DAY_MS, "30d").describe("The period, rolling in hour buckets."),
  on_exhaust: oneOf(["stop", "refuse"])
    .prefault("refuse")
    .describe(
      "refuse: a schedule that would use it up early is refused. stop: polls stop once it is used up.",
    ),
};

const quotaSchema: z.ZodType<Quota> = named(
  section({
    requests: wholeNumber(1, 1_000_000_000_000).describe(
      "How many requests Pacewatch itself may send in the period.",
    ),
    ...quotaKeys,
  }),
  { requests: "most", per: "perMs" },
);

const spendSchema: z.ZodType<Quota> = named(
  section({
    at_most: money(1e-9).describe(
      "What Pacewatch itself may spend in the period, in the currency of the prices.",
    ),
    ...quotaKeys,
  }),
  { at_most: "most", per: "perMs" },
);

export const QUOTA: Section = {
  at: "budget",
  shape: {
    quota: quotaSchema.optional().describe("Pacewatch's own long limit of requests, not scaled by share."),
    price: priceSchema
      .optional()
      .describe(
        "What each request costs of those upstreams that have no price of their own: one price, or a list of prices that are added.",
      ),
    spend: spendSchema
      .optional()
      .describe(
        "Pacewatch's own long limit of money. Each of its upstreams needs a price: reserved is the most that a poll may cost, counted what it did cost.",
      ),
  },
  ofBudget: (budget) => {
    const { quota, spend } = budget;
    return { ...(quota && { quota: inPart(quota, budget) }), ...(spend && { spend: inPart(spend, budget) }) };
  },
};

/** All vantages may use so much together: one of them has a part. */
export function inPart(quota: Quota, { vantage }: Pick<Budget, "vantage">): Quota {
  return { ...quota, most: partOf(quota.most, { vantage }) };
}

export const PRICE: Section = {
  at: "upstream",
  before: "objective",
  shape: {
    price: priceSchema
      .optional()
      .describe(
        "What each of its polls costs, confirmations too: one price, or a list of prices that are added. Default: that of its budget.",
      ),
  },
  // Where several of its budgets have one, the upstream must have its own: the proof says so.
  ofUpstream: ({ price, budgets: names }, budgets) => {
    const [theirs, another] = names.flatMap((name) => budgets.get(name)?.price ?? []);
    return price !== undefined || theirs === undefined || another !== undefined ? {} : { price: theirs };
  },
};
