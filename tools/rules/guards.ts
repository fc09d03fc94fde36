import { BEYOND_ONE_SLOT, BURN_PAIRS, type BurnPair } from "../../src/proof/objective-density.ts";
import { formatDuration } from "../../src/kernel/time/duration.ts";
import { longestPeriod, watchedSecondsName } from "./recordings.ts";
import { type Processes, ONE } from "./processes.ts";
import type { Recording, RuleGroup } from "./rule.ts";

/**
 * For how many failed slots an error-budget alert waits, however fast they burn: what `fewestThatMean` of the proof says,
 * computed from metrics, so that a reload never leaves an old guard behind. Slots are those of the slowest schedule of the
 * window, so that a reload never makes one failed slot into many.
 */
export function guardGroup(processes: Processes = ONE): RuleGroup {
  return {
    name: "pacewatch-guards",
    rules: BURN_PAIRS.flatMap((pair) => [
      ...(pair.severity === "page" ? [failuresAllowed(pair, processes)] : []),
      guard(pair, processes),
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
function failuresAllowed(pair: BurnPair, processes: Processes): Recording {
  const long = formatDuration(pair.longMs);
  return {
    record: allowedName(pair),
    expr: `(1 - ${processes.setting("pacewatch_objective_ratio")}) * ${watchedSecondsName(long)} / ${longestPeriod(long, processes)}`,
  };
}

/** Without a guard an alert cannot fire: the short window may hold no poll. */
function guard(pair: BurnPair, { setting }: Processes): Recording {
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
