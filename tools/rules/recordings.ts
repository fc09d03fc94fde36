import { BURN_PAIRS } from "../../src/core/proof/objective-density.ts";
import { formatDuration } from "../../src/core/time/duration.ts";
import { type Holders, ONE } from "./replicas.ts";
import type { Recording, RuleGroup } from "./rule.ts";

export const MONTH = "30d";

/** Long windows are expensive to evaluate, and a minute more or less does not matter there. */
const LONG_WINDOWS: readonly string[] = ["1d", "3d", MONTH];
const LONG_INTERVAL = "1m";
const SHORT_WINDOWS: readonly string[] = ["5m", "30m", "1h", "2h", "6h"];
const GUARDED: ReadonlySet<string> = new Set(BURN_PAIRS.map(({ longMs }) => formatDuration(longMs)));

const LATENCY_COUNTED: ReadonlySet<string> = new Set(["1h", "1d"]);

const QUANTILES: readonly string[] = ["0.5", "0.95", "0.99"];

/** Availability is ok / (ok + failed): the others say nothing about the upstream. */
const OK = 'outcome="ok"';
const FAILED = 'outcome="failed"';
const JUDGED = 'outcome=~"ok|failed"';

function polls(outcome: string, window: string): string {
  return `sum without (outcome) (increase(pacewatch_polls_total{${outcome}}[${window}]))`;
}

/** Relative to the polls of a whole month: those that are still to come count as ok. */
function budgetLeft({ total, setting }: Holders): Recording {
  const slots = `30 * 86400 / ${setting("pacewatch_schedule_period_seconds")}`;
  return {
    record: `pacewatch:error_budget_left:ratio${MONTH}`,
    expr: `1 - ${total(polls(FAILED, MONTH))} / (
  (1 - ${setting("pacewatch_objective_ratio")})
  * (${total(polls(JUDGED, MONTH))} > ${slots} or ${slots})
)`,
  };
}

export function recordingGroups(holders: Holders = ONE): readonly RuleGroup[] {
  const availability = (window: string): readonly Recording[] => availabilityOver(window, holders);
  const withinObjective = (window: string): readonly Recording[] => withinObjectiveOver(window, holders);
  return [
    {
      name: "pacewatch-availability",
      rules: SHORT_WINDOWS.flatMap(availability),
    },
    {
      name: "pacewatch-availability-long",
      interval: LONG_INTERVAL,
      rules: [...LONG_WINDOWS.flatMap(availability), budgetLeft(holders)],
    },
    {
      name: "pacewatch-latency",
      rules: [
        ...QUANTILES.map((quantile) => quantileOf(quantile, holders)),
        ...["30m", "1h"].flatMap(withinObjective),
      ],
    },
    {
      name: "pacewatch-latency-long",
      interval: LONG_INTERVAL,
      rules: ["6h", "1d"].flatMap(withinObjective),
    },
  ];
}

/** A window without polls has no ratio. */
function availabilityOver(window: string, { total, setting }: Holders): readonly Recording[] {
  const ratio: Recording = {
    record: `pacewatch:availability:ratio${window}`,
    expr: `${total(polls(OK, window))} / (${total(polls(JUDGED, window))} > 0)`,
  };
  if (window === MONTH) return [ratio];
  const burn: Recording = {
    record: `pacewatch:error_budget_burn:${window}`,
    expr: `(1 - pacewatch:availability:ratio${window}) / (1 - ${setting("pacewatch_objective_ratio")})`,
  };
  if (!GUARDED.has(window)) return [ratio, burn];
  // Rounded, because `increase` extrapolates to the edges of the window.
  return [
    { record: `pacewatch:polls_failed:increase${window}`, expr: `round(${total(polls(FAILED, window))})` },
    ratio,
    burn,
  ];
}

/** Of classic buckets or, where Prometheus scrapes native histograms, of those. */
function quantileOf(quantile: string, holders: Holders): Recording {
  const of = (histogram: string, le: string): string =>
    `histogram_quantile(${quantile}, ${holders === ONE ? "sum without (outcome)" : `sum by (job, upstream${le})`} (rate(${histogram}{outcome="ok"}[5m])))`;
  return {
    record: "pacewatch:poll_duration_seconds:quantile5m",
    expr: `${of("pacewatch_poll_duration_seconds_bucket", ", le")}
or ${of("pacewatch_poll_duration_seconds", "")}`,
    labels: { quantile },
  };
}

/** Of the ok polls: how long a failure took is not latency. */
function withinObjectiveOver(window: string, { total }: Holders): readonly Recording[] {
  const ok = total(polls(OK, window));
  const within = total(`increase(pacewatch_polls_within_objective_total[${window}])`);
  const ratio: Recording = {
    record: `pacewatch:within_latency_objective:ratio${window}`,
    expr: `${within} / (${ok} > 0)`,
  };
  if (!LATENCY_COUNTED.has(window)) return [ratio];
  return [{ record: `pacewatch:polls_slow:increase${window}`, expr: `round(${ok} - ${within})` }, ratio];
}
