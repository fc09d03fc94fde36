import { z } from "zod";
import { FAILURES_COUNTED } from "../history/state.ts";
import { DAY_MS, HOUR_MS } from "../../kernel/time/duration.ts";
import { zoneSpans } from "../../kernel/time/time-zone.ts";
import {
  checked,
  duration,
  filledList,
  named,
  oneOf,
  percentage,
  section,
  wholeNumber,
} from "../../config/keys/leaves.ts";
import type { Section } from "../../config/schema/section.ts";
import { noted } from "../../config/keys/notes.ts";
import { TIME_ZONE_PATTERN } from "../../config/keys/patterns.ts";

/** A minute is bad in which every poll that was ok or failed has failed, any has, or so many have. */
export type BadUnit = "all_failed" | "any_failed" | { readonly failures: number };

/** What the provider promises, counted in its own way. */
export type Sla = {
  /** 0 < atLeast < 1. */
  readonly atLeast: number;
  readonly unit: "minute";
  readonly badUnit: BadUnit;
  /** Parts of the bill that are paid back for a month with less availability than `below`. */
  readonly credits: readonly { readonly below: number; readonly credit: number }[] | undefined;
  readonly claimWithinMs: number | undefined;
  /** In which its months begin, whole hours from UTC; undefined for UTC. */
  readonly timeZone: string | undefined;
};

declare module "../../kernel/config/config.ts" {
  interface Upstream {
    readonly sla?: Sla | undefined;
  }
}

const MOST_CREDITS = 10;
const WHOLE_HOURS_PHRASE =
  "the name of a time zone that is whole hours from UTC, as sums are kept by the hour, such as Europe/Berlin";

function zoneFault(name: string): string | undefined {
  const isWhole = zoneSpans(name)?.every(({ offsetMs }) => offsetMs % HOUR_MS === 0);
  return isWhole === true ? undefined : WHOLE_HOURS_PHRASE;
}

const badUnit: z.ZodType<BadUnit> = z.union(
  [
    oneOf(["all_failed", "any_failed"]),
    section({
      failures: wholeNumber(1, FAILURES_COUNTED.length).describe(
        "It is bad with at least so many failed polls.",
      ),
    }),
  ],
  { error: "all_failed, any_failed or a mapping with failures" },
);

/** Its name is one of `defaults` too: many upstreams may have one provider. */
const slaSchema: z.ZodType<Sla> = named(
  section({
    at_least: percentage({ zero: false, hundred: false }, "99.9%").describe(
      "The availability of a month that the provider promises.",
    ),
    unit: oneOf(["minute"]).prefault("minute").describe("What it counts."),
    bad_unit: badUnit
      .prefault("all_failed")
      .describe(
        "Which minutes are bad: those in which all polls that were ok or failed have failed (all_failed), those in which any has (any_failed), or failures: 3, those with at least so many, up to 5.",
      ),
    credits: filledList(
      section({
        below: percentage({ zero: false, hundred: true }, "99.9%").describe(
          "The credit is for a month with less availability than this.",
        ),
        credit: percentage({ zero: false, hundred: true }, "10%").describe(
          "The part of the bill of that month that is paid back.",
        ),
      }),
      MOST_CREDITS,
      "credits",
      ", such as - { below: 99.9%, credit: 10% }",
    )
      .optional()
      .describe("What the provider pays back. Of those that apply, the one with the lowest below counts."),
    claim_within: duration(DAY_MS, 366 * DAY_MS, "30d")
      .optional()
      .describe("How long after the end of a month a credit can be claimed."),
    time_zone: checked(zoneFault, WHOLE_HOURS_PHRASE, TIME_ZONE_PATTERN)
      .optional()
      .describe("In which its months and days begin, instead of UTC."),
  }),
  { claim_within: "claimWithinMs" },
).describe(
  "The availability that the provider promises, counted in the provider's own way: a report says how it was kept.",
);

export const REPORT: Section = {
  at: "upstream",
  before: "connection",
  shape: { sla: noted(slaSchema, { isNeeded: true }).optional() },
};
