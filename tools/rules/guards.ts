import { BEYOND_ONE_SLOT, BURN_PAIRS, type BurnPair } from "../../src/proof/objective-density.ts";
import { formatDuration } from "../../src/kernel/time/duration.ts";
import { watchedSecondsName } from "./recordings.ts";
import { type Holders, ONE } from "./replicas.ts";
import type { Recording, RuleGroup } from "./rule.ts";

/**
 * For how many failed slots an error-budget alert waits, however fast they burn: what `fewestThatMean` of the proof says,
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
  return `pacewatch:guard_slots:${formatDuration(longMs)}`;
}

function allowedName({ longMs }: BurnPair): string {
  return `pacewatch:slots_allowed:${formatDuration(longMs)}`;
}

/** As many as an upstream that just meets its objective has in what this window watched. */
function failuresAllowed(pair: BurnPair, setting: Holders["setting"]): Recording {
  return {
    record: allowedName(pair),
    expr: `(1 - ${setting("pacewatch_objective_ratio")}) * ${watchedSecondsName(formatDuration(pair.longMs))} / ${setting("pacewatch_schedule_period_seconds")}`,
  };
}

/** Without a guard an alert cannot fire: the short window may hold no poll. */
function guard(pair: BurnPair, setting: Holders["setting"]): Recording {
  const isDense = `${setting("pacewatch_schedule_period_seconds")} <= ${pair.shortMs / 2_000}`;
  if (pair.severity === "ticket")
    return { record: guardName(pair), expr: `0 * (${isDense}) + ${BEYOND_ONE_SLOT}` };
  return { record: guardName(pair), expr: `${beyondChance(allowedName(pair))}\nand ${isDense}` };
}

/**
 * Up to each of these means, a Poisson process reaches 2, 3, 4 or 5 failures in fewer than one window of a thousand.
 * Where more are to be expected, those that burn the window fast enough are more than what chance brings.
 */
const MEANS = [0.0454, 0.1905, 0.4286, 0.7394];

function beyondChance(allowed: string): string {
  const steps = MEANS.map((mean) => `+ (${allowed} > bool ${mean})`);
  return `(${[`${BEYOND_ONE_SLOT}`, ...steps].join(" ")})`;
}
