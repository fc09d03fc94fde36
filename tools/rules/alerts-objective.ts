import { BURN_PAIRS, type BurnPair } from "../../src/proof/objective-density.ts";
import { WITHIN_LATENCY_SHARE } from "../../src/features/history/availability.ts";
import { formatDuration } from "../../src/kernel/time/duration.ts";
import { OF_UPSTREAM, queryValue, reasonsOver, watchedIn } from "./alert-text.ts";
import { guardName } from "./guards.ts";
import { failedSlots, MONTH, watchedName } from "./recordings.ts";
import { lasting, type Processes, ONE, type UpMetric } from "./processes.ts";
import type { Alert, RuleGroup } from "./rule.ts";

/** This many slow polls may be an accident, however few polls there were. */
const FEW_SLOW = 2;
/** Above this period, an hour has too few polls to judge. */
const SELDOM_S = 300;

/** While the short window holds an outage that was paged as such, its failures are no second page. New ones outlast it. */
function budgetBurning(pair: BurnPair, up: UpMetric): Alert {
  const long = formatDuration(pair.longMs);
  const short = formatDuration(pair.shortMs);
  const paged = `\nunless on (${up.labels}) min_over_time(${up.metric}[${short}]) == 0`;
  return {
    alert: "PacewatchErrorBudgetBurning",
    severity: pair.severity,
    expr: `pacewatch:error_budget_burn:${long} > ${pair.factor}
and pacewatch:error_budget_burn:${short} > ${pair.factor}
and ${failedSlots(long)} >= ${guardName(pair)}${pair.severity === "page" ? paged : ""}`,
    labels: { window: long },
    summary: `{{ $labels.upstream }} burns its error budget {{ $value | printf "%.1f" }} times too fast`,
    description: `In the last ${long}, {{ $labels.upstream }} failed for ${queryValue(`max(sum by (vantage) (increase(pacewatch_upstream_watched_seconds_total{outcome="failed",${OF_UPSTREAM}}[${long}])))`, "humanizeDuration", "a while")}: availability ${queryValue(`avg(pacewatch:availability:ratio${long}{${OF_UPSTREAM}})`, "humanizePercentage", "unknown")}${watchedIn(long)}, objective ${queryValue(`max(pacewatch_objective_ratio{${OF_UPSTREAM}})`, "humanizePercentage", "unknown")}. That is {{ $value | printf "%.1f" }} times what the objective allows (threshold: ${pair.factor}, also exceeded over ${short}). By reason: ${reasonsOver(long, "failed")}. Error budget left for ${MONTH}: ${queryValue(`min(pacewatch:error_budget_left:ratio${MONTH}{${OF_UPSTREAM}})`, "humanizePercentage", "unknown")}.`,
  };
}

/** Over an hour or, if an hour has too few polls, over a day. */
function latencyMissed({ setting }: Processes): Alert {
  const periodS = setting("pacewatch_schedule_period_seconds");
  return {
    alert: "PacewatchLatencyObjectiveMissed",
    severity: "ticket",
    expr: `${missed("1h", "30m")}
or
${missed("1d", "6h")}
and ${periodS} > ${SELDOM_S}`,
    summary: "{{ $labels.upstream }} is slower than its latency objective",
    description: `Only {{ $value | humanizePercentage }} of the successful polls of {{ $labels.upstream }} were within its latency objective of ${queryValue(`max(pacewatch_objective_latency_seconds{${OF_UPSTREAM}})`, "humanizeDuration", "unknown")}; ${WITHIN_LATENCY_SHARE * 100}% should be. The slowest 5% in the last 5 minutes took over ${queryValue(`max(pacewatch:poll_duration_seconds:quantile5m{quantile="0.95",${OF_UPSTREAM}})`, "humanizeDuration", "unknown")}.`,
  };
}

/** So much of a whole window, as of what was not watched nothing was slow. */
function missed(long: string, short: string): string {
  return `pacewatch:within_latency_objective:ratio${long} < ${WITHIN_LATENCY_SHARE}
and pacewatch:within_latency_objective:ratio${short} < ${WITHIN_LATENCY_SHARE}
and (1 - pacewatch:within_latency_objective:ratio${long}) * ${watchedName(long)} > ${Number((1 - WITHIN_LATENCY_SHARE).toFixed(3))}
and pacewatch:polls_slow:increase${long} > ${FEW_SLOW}`;
}

const UP: UpMetric = { metric: "pacewatch_upstream_up", labels: "job, instance, upstream" };

export function objectiveAlerts(up: UpMetric = UP, processes: Processes = ONE): RuleGroup {
  return {
    name: "pacewatch-objectives",
    rules: [...BURN_PAIRS.map((pair) => budgetBurning(pair, up)), latencyMissed(processes)].map(lasting),
  };
}
