import type { z } from "zod";
import { duration, named, oneOf, section, wholeNumber } from "../../config/keys/leaves.ts";
import type { Section } from "../../config/schema/section.ts";
import type { Budget } from "../../kernel/config/config.ts";
import { partOf } from "../../kernel/config/part.ts";
import { DAY_MS, HOUR_MS } from "../../kernel/time/duration.ts";

/** In whole units, so that sums are exact: requests, or billionths of a currency. */
export type Quota = {
  readonly most: number;
  readonly perMs: number;
  readonly onExhaust: "stop" | "refuse";
};

declare module "../../kernel/config/config.ts" {
  interface Budget {
    /** Of a vantage only its part. */
    readonly quota?: Quota | undefined;
  }
}

type QuotaKeys = { readonly per: z.ZodType<number>; readonly on_exhaust: z.ZodType<Quota["onExhaust"]> };

export const quotaKeys: QuotaKeys = {
  per: duration(HOUR_MS, 366 * DAY_MS, "30d").describe("The period, rolling in hour buckets."),
  on_exhaust: oneOf(["stop", "refuse"])
    .prefault("refuse")
    .describe(
      "refuse: a schedule that would use it up early is refused. stop: polls stop once it is used up.",
    ),
};

/** Of what all vantages may use together, the part of one. */
export function inPart(quota: Quota, { vantage }: Pick<Budget, "vantage">): Quota {
  return { ...quota, most: partOf(quota.most, { vantage }) };
}

const quotaSchema: z.ZodType<Quota> = named(
  section({
    requests: wholeNumber(1, 1_000_000_000_000).describe(
      "How many requests Pacewatch itself may send in the period.",
    ),
    ...quotaKeys,
  }),
  { requests: "most", per: "perMs" },
);

export const QUOTA: Section = {
  at: "budget",
  shape: {
    quota: quotaSchema.optional().describe("Pacewatch's own long limit of requests, not scaled by share."),
  },
  ofBudget: (budget) => (budget.quota === undefined ? {} : { quota: inPart(budget.quota, budget) }),
};
