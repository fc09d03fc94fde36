import type { Config, Upstream } from "../../core/config/config.ts";
import { BURN_PAIRS, densityOf, guardFailures, type BurnPair } from "../../core/proof/objective-density.ts";
import { formatDuration } from "../../core/time/duration.ts";
import { type Holders, ONE } from "./replicas.ts";
import type { Recording, RuleGroup } from "./rule.ts";

export type Watched = Pick<Config, "budgets" | "upstreams"> & Partial<Pick<Config, "fleet">>;

const STALL_MARGIN_S = 60;
const UNLISTED_STALL_MARGIN_S = 300;

/** The only rules that depend on the config: thresholds computed from the schedule of each upstream. */
export function guardGroup(config: Watched, { setting }: Holders = ONE): RuleGroup {
  return {
    name: "pacewatch-guards",
    rules: [...BURN_PAIRS.map((pair) => guardRecording(config, pair, setting)), stallRecording(config)],
  };
}

export function guardName(pair: BurnPair): string {
  return `pacewatch:guard_failures:${formatDuration(pair.longMs)}`;
}

function guardRecording({ upstreams }: Watched, pair: BurnPair, setting: Holders["setting"]): Recording {
  const listed = eachOf(upstreams, (upstream) => guardFailures(densityOf(upstream), pair), setting);
  // An upstream that was added to the config after the rules were written: computed from its metrics.
  const unlisted = `clamp_min(floor(${pair.factor} * (1 - ${setting("pacewatch_objective_ratio")}) * ${pair.longMs / 1000} / ${setting("pacewatch_schedule_period_seconds")}) + 1, 3)`;
  return { record: guardName(pair), expr: [...listed, unlisted].join("\nor\n") };
}

/** A budget that a reload adds waits for its longest window before the first poll. */
function stallRecording({ budgets, upstreams }: Watched): Recording {
  const longestTimeoutMs = Math.max(0, ...upstreams.map(({ timeoutMs }) => timeoutMs));
  const listed = eachOf(upstreams, ({ budgets: own, schedule }) => {
    const silences = budgets
      .filter(({ name }) => own.includes(name))
      .map(({ rates, lingerMs }) => Math.max(...rates.map(({ perMs }) => perMs)) + lingerMs);
    const silentMs = Math.max(0, ...silences) + longestTimeoutMs;
    return Math.ceil((3 * schedule.longestGapMs + silentMs) / 1000) + STALL_MARGIN_S;
  });
  const unlisted = `3 * pacewatch_schedule_period_seconds + ${UNLISTED_STALL_MARGIN_S}`;
  return { record: "pacewatch:stalled_after_seconds", expr: [...listed, unlisted].join("\nor\n") };
}

/** Upstreams with the same number share a line. The live series provides the job and instance labels. */
function eachOf(
  upstreams: readonly Upstream[],
  numberOf: (upstream: Upstream) => number,
  setting: Holders["setting"] = ONE.setting,
): readonly string[] {
  return [...Map.groupBy(upstreams, numberOf)]
    .sort(([a], [b]) => a - b)
    .map(([number, alike]) => {
      const value = number === Infinity ? "Inf" : String(number);
      return `0 * ${setting(`pacewatch_objective_ratio{upstream${matching(alike)}}`)} + ${value}`;
    });
}

function matching(upstreams: readonly Upstream[]): string {
  const names = upstreams.map(({ name }) => name).sort();
  if (names.length === 1) return `="${names.join("")}"`;
  return `=~"${names.map((name) => name.replaceAll(".", "\\\\.")).join("|")}"`;
}
