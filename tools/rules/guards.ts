import { BURN_PAIRS, type BurnPair } from "../../src/core/proof/objective-density.ts";
import { formatDuration } from "../../src/core/time/duration.ts";
import { judgedName } from "./recordings.ts";
import { type Holders, ONE } from "./replicas.ts";
import type { Recording, RuleGroup } from "./rule.ts";

/**
 * How many failures an error-budget alert waits for, however fast they burn: what `fewestThatMean` of the proof says,
 * computed from metrics, so that a reload never leaves an old guard behind.
 */
export function guardGroup({ setting }: Holders = ONE): RuleGroup {
  return {
    name: "pacewatch-guards",
    rules: BURN_PAIRS.flatMap((pair) => [
      ...(pair.severity === "page" ? [failuresAllowed(pair, setting)] : []),
      guard(pair, setting),
    ]),
  };
}

export function guardName({ longMs }: BurnPair): string {
  return `pacewatch:guard_failures:${formatDuration(longMs)}`;
}

function allowedName({ longMs }: BurnPair): string {
  return `pacewatch:failures_allowed:${formatDuration(longMs)}`;
}

/** As many as an upstream that just meets its objective has among the polls of this window. */
function failuresAllowed(pair: BurnPair, setting: Holders["setting"]): Recording {
  return {
    record: allowedName(pair),
    expr: `(1 - ${setting("pacewatch_objective_ratio")}) * ${judgedName(formatDuration(pair.longMs))}`,
  };
}

/** Without a guard an alert cannot fire: the short window may hold no poll. */
function guard(pair: BurnPair, setting: Holders["setting"]): Recording {
  const beyondOneSlot = `${setting("pacewatch_confirm_polls")} + 2`;
  const isDense = `${setting("pacewatch_schedule_period_seconds")} <= ${pair.shortMs / 2_000}`;
  if (pair.severity === "ticket")
    return { record: guardName(pair), expr: `${beyondOneSlot}\nand ${isDense}` };
  const chance = beyondChance(allowedName(pair));
  return {
    record: guardName(pair),
    expr: `(\n  ${beyondOneSlot} >= ${chance}\n  or ${chance}\n)\nand ${isDense}`,
  };
}

/**
 * Up to each of these means, a Poisson process reaches 2, 3, 4 or 5 failures in fewer than one window of a thousand.
 * Where more are to be expected, those that burn the window fast enough are more than what chance brings.
 */
const MEANS = [0.0454, 0.1905, 0.4286, 0.7394];

function beyondChance(allowed: string): string {
  const steps = MEANS.map((mean) => `+ (${allowed} > bool ${mean})`);
  return `(${["2", ...steps].join(" ")})`;
}
