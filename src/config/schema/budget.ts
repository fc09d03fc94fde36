import type { z } from "zod";
import type { Budget, Rate } from "../../kernel/config/config.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, formatDuration, parseDuration } from "../../kernel/time/duration.ts";
import { decoded, duration, named, oneOrMore, percentage, section, wholeNumber } from "../keys/leaves.ts";
import { type Rule, noted } from "../keys/notes.ts";
import { itemsOf, mappingOf, repeats, ruled } from "../keys/rules.ts";
import { rulesAt, type Section, withSections } from "./section.ts";

/** A budget without its name, which is its key. */
export type BudgetTerms = Omit<Budget, "name">;

const rate: z.ZodType<Rate> = decoded(
  section(
    {
      requests: wholeNumber(1, 1_000_000_000).describe(
        "How many requests the upstream allows in each window.",
      ),
      per: duration(10, HOUR_MS, "1m (a limit of a day or a month is a quota of the budget)").describe(
        "The length of the window, up to 1h. Longer limits are quotas.",
      ),
    },
    "a mapping of requests and per, such as { requests: 60, per: 1m }",
  ).describe("At most this many requests in any window of this length."),
  ({ requests, per }) => ({ requests, perMs: per, label: formatDuration(per) }),
);

/** Two rates over the same window would be one metric series. */
const differentWindows: Rule = {
  check: (rates, refuse) => {
    const windows = itemsOf(rates).map((rate) => parseDuration(String(mappingOf(rate)["per"])));
    for (const { at } of repeats(windows.map((perMs) => perMs && formatDuration(perMs))))
      refuse([at, "per"], "must differ from the other rates of its budget");
  },
};

const rates = oneOrMore(rate, "a rate, such as { requests: 60, per: 1m }, or a list of rates", 16, "rates");

const own = {
  rate: ruled(rates, differentWindows).describe(
    "What the upstream's owner allows to one credential: one rate, or a list of rates that all apply.",
  ),
  share: percentage({ zero: false, hundred: true }, "20%")
    .prefault("20%")
    .describe("The part of every rate that Pacewatch may use; the rest belongs to production."),
  linger: duration(0, HOUR_MS, "5s")
    .prefault("0s")
    .describe("How long the upstream may still count an abandoned request after its socket was closed."),
  max_pause: duration(1000, DAY_MS, "1h")
    .prefault("1h")
    .describe("The longest pause that an answer of the upstream can request."),
  blind_after: duration(MINUTE_MS, DAY_MS, "5m")
    .prefault("5m")
    .describe(
      "Where an answer only tells that nothing is left, and neither refuses nor asks for a wait, the next poll comes no later than this.",
    ),
  yield_below: percentage({ zero: true, hundred: false }, "10%")
    .prefault("10%")
    .describe(
      "When the upstream says that less than this of its limit is left, only one slot in four is used.",
    ),
};

export function budgetSchema(sections: readonly Section[]): z.ZodType<BudgetTerms> {
  const keys = named(
    ruled(
      section(withSections(own, "budget", sections)).describe(
        "What the upstream's owner allows to one credential, and the share of it that Pacewatch may use.",
      ),
      ...rulesAt("budget", sections),
    ),
    { rate: "rates", linger: "lingerMs", max_pause: "maxPauseMs", blind_after: "blindAfterMs" },
  );
  return noted(keys, { isNeeded: true });
}
