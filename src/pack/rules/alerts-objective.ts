import { BURN_PAIRS, type BurnPair } from "../../core/proof/objective-density.ts";
import { formatDuration } from "../../core/time/duration.ts";
import { OF_UPSTREAM, recentFailures, told } from "./alert-text.ts";
import { guardName } from "./guards.ts";
import { MONTH } from "./recordings.ts";
import type { Alert, RuleGroup } from "./rule.ts";

/** Of the polls that were ok, so many must be within the latency objective. */
export const WITHIN_LATENCY_SHARE = 0.95;
/** So many slow polls are an accident, however few there were. */
const FEW_SLOW = 2;
/** From here on an hour holds too few polls. */
const SELDOM_S = 300;

function budgetBurning(pair: BurnPair): Alert {
  const long = formatDuration(pair.longMs);
  const short = formatDuration(pair.shortMs);
  return {
    alert: "PacewatchErrorBudgetBurning",
    severity: pair.severity,
    expr: `pacewatch:error_budget_burn:${long} > ${pair.factor}
and pacewatch:error_budget_burn:${short} > ${pair.factor}
and pacewatch:polls_failed:increase${long} >= ${guardName(pair)}`,
    labels: { window: long },
    summary: `{{ $labels.upstream }} burns its error budget {{ $value | printf "%.1f" }} times too fast`,
    description: `In the last ${long} {{ $labels.upstream }} failed ${told(`pacewatch:polls_failed:increase${long}{${OF_UPSTREAM}}`, `printf "%.0f"`, "some")} polls: availability ${told(`pacewatch:availability:ratio${long}{${OF_UPSTREAM}}`, "humanizePercentage", "unknown")}, objective ${told(`pacewatch_objective_ratio{${OF_UPSTREAM}}`, "humanizePercentage", "unknown")}. That is {{ $value | printf "%.1f" }} times what the objective allows (${pair.factor} is the threshold, over ${short} too). By reason: ${recentFailures(long)}. Left of the error budget of ${MONTH}: ${told(`pacewatch:error_budget_left:ratio${MONTH}{${OF_UPSTREAM}}`, "humanizePercentage", "unknown")}.`,
  };
}

/** In an hour; or, where too few polls are made in one, in a day. */
const LATENCY_MISSED: Alert = {
  alert: "PacewatchLatencyObjectiveMissed",
  severity: "ticket",
  expr: `${missed(3_600_000, "30m")}
or
${missed(86_400_000, "6h")}
and pacewatch_schedule_period_seconds > ${SELDOM_S}`,
  summary: "{{ $labels.upstream }} is slower than its latency objective",
  description: `Only {{ $value | humanizePercentage }} of the ok polls of {{ $labels.upstream }} were within its latency objective of ${told(`pacewatch_objective_latency_seconds{${OF_UPSTREAM}}`, "humanizeDuration", "unknown")}; ${WITHIN_LATENCY_SHARE * 100}% should be. Slowest twentieth in the last 5 minutes: over ${told(`pacewatch:poll_duration_seconds:quantile5m{quantile="0.95",${OF_UPSTREAM}}`, "humanizeDuration", "unknown")}.`,
};

/** With as many slow ones as a full window would need: one that is not full yet is judged as if it were. */
function missed(longMs: number, short: string): string {
  const long = formatDuration(longMs);
  const allowed = Number(((1 - WITHIN_LATENCY_SHARE) * (longMs / 1000)).toFixed(3));
  return `pacewatch:within_latency_objective:ratio${long} < ${WITHIN_LATENCY_SHARE}
and pacewatch:within_latency_objective:ratio${short} < ${WITHIN_LATENCY_SHARE}
and pacewatch:polls_slow:increase${long} > clamp_min(${allowed} / pacewatch_schedule_period_seconds, ${FEW_SLOW})`;
}

export const OBJECTIVE_ALERTS: RuleGroup = {
  name: "pacewatch-objectives",
  rules: [...BURN_PAIRS.map(budgetBurning), LATENCY_MISSED],
};
