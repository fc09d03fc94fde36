import { BURN_PAIRS, type BurnPair } from "../../src/core/proof/objective-density.ts";
import { formatDuration } from "../../src/core/time/duration.ts";
import { type Holders, ONE } from "./replicas.ts";
import type { Recording, RuleGroup } from "./rule.ts";

/**
 * How many failures an error-budget alert waits for: what `guardFailures` of the proof says, computed from metrics, so
 * that a reload never leaves an old guard behind.
 */
export function guardGroup({ setting }: Holders = ONE): RuleGroup {
  return {
    name: "pacewatch-guards",
    rules: BURN_PAIRS.flatMap((pair) => [failuresAllowed(pair, setting), guard(pair, setting)]),
  };
}

export function guardName({ longMs }: BurnPair): string {
  return `pacewatch:guard_failures:${formatDuration(longMs)}`;
}

function allowedName({ longMs }: BurnPair): string {
  return `pacewatch:failures_allowed:${formatDuration(longMs)}`;
}

/** As many as an upstream has in this window that just meets its objective. */
function failuresAllowed(pair: BurnPair, setting: Holders["setting"]): Recording {
  return {
    record: allowedName(pair),
    expr: `(1 - ${setting("pacewatch_objective_ratio")}) * ${pair.longMs / 1000} / ${setting("pacewatch_schedule_period_seconds")}`,
  };
}

/** The greatest of them counts. Without a guard an alert cannot fire: the short window may hold no poll. */
function guard(pair: BurnPair, setting: Holders["setting"]): Recording {
  const least = [
    ["to burn a full window", `floor(${pair.factor} * ${allowedName(pair)} + 1e-9) + 1`],
    ["more than one slot can see", `${setting("pacewatch_confirm_polls")} + 2`],
    ...(pair.severity === "page" ? [["more than chance brings", beyondChance(allowedName(pair))]] : []),
  ];
  const each = least.map(([why, count]) => `label_replace(${count}, "why", "${why}", "", "")`);
  return {
    record: guardName(pair),
    expr: `max without (why) (
  ${each.join("\n  or ")}
)
and ${setting("pacewatch_schedule_period_seconds")} <= ${pair.shortMs / 2_000}`,
  };
}

/**
 * Up to each of these means, a Poisson process reaches 2, 3, 4 or 5 failures in fewer than one window of a thousand.
 * Where more are to be expected, the failures that burn a full window are more than what chance brings.
 */
const MEANS = [0.0454, 0.1905, 0.4286, 0.7394];

function beyondChance(allowed: string): string {
  const steps = MEANS.map((mean) => `+ (${allowed} > bool ${mean})`);
  return ["2", ...steps].join("\n    ");
}
