import { BURN_PAIRS } from "../../src/proof/objective-density.ts";
import { formatDuration, parseDuration } from "../../src/kernel/time/duration.ts";
import { type Holders, ONE } from "./replicas.ts";
import type { Recording, RuleGroup } from "./rule.ts";

export const MONTH = "30d";

/** Long windows are expensive to evaluate, and a minute more or less does not matter there. */
const LONG_WINDOWS: readonly string[] = ["1d", "3d", MONTH];
const LONG_INTERVAL = "1m";
const SHORT_WINDOWS: readonly string[] = ["5m", "30m", "1h", "2h", "6h"];
const GUARDED: ReadonlySet<string> = new Set(BURN_PAIRS.map(({ longMs }) => formatDuration(longMs)));

export function failedSlots(window: string): string {
  return `pacewatch:slots_failed:increase${window}`;
}

const OK = '{outcome="ok"}';
const FAILED = '{outcome="failed"}';

const LATENCY_COUNTED: ReadonlySet<string> = new Set(["1h", "1d"]);

const QUANTILES: readonly string[] = ["0.5", "0.95", "0.99"];

export function watchedSecondsName(window: string): string {
  return `pacewatch:watched_seconds:increase${window}`;
}

function watchedSeconds(window: string, outcome = ""): string {
  return `sum without (outcome) (increase(pacewatch_upstream_watched_seconds_total${outcome}[${window}]))`;
}

function burnName(window: string): string {
  return `pacewatch:error_budget_burn:${window}`;
}

/**
 * How much of the window was watched, of what its schedule watches at most: a day or more has the nights of a calendar in
 * it, and an hour has not.
 */
function watchedOver(window: string, { setting }: Holders): Recording {
  const seconds = (parseDuration(window) ?? 0) / 1_000;
  const most = LONG_WINDOWS.includes(window)
    ? `(${seconds} * (${setting("pacewatch_schedule_watched_ratio")} or 0 * ${setting("pacewatch_objective_ratio")} + 1))`
    : `${seconds}`;
  return { record: watchedName(window), expr: `clamp_max(${watchedSecondsName(window)} / ${most}, 1)` };
}

export function watchedName(window: string): string {
  return `pacewatch:watched:ratio${window}`;
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
      rules: [...LONG_WINDOWS.flatMap(availability), BUDGET_LEFT],
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

/** Of a month as long as it is watched: the time that is still to come counts as ok. */
const BUDGET_LEFT: Recording = {
  record: `pacewatch:error_budget_left:ratio${MONTH}`,
  expr: `1 - ${burnName(MONTH)}`,
};

/** A window in which nothing was watched has no ratio. Of one that was not watched wholly, what was not burns nothing. */
function availabilityOver(window: string, holders: Holders): readonly Recording[] {
  const { total, setting } = holders;
  const watched: Recording = { record: watchedSecondsName(window), expr: total(watchedSeconds(window)) };
  const ratio: Recording = {
    record: `pacewatch:availability:ratio${window}`,
    expr: `${total(watchedSeconds(window, OK))} / (${watched.record} > 0)`,
  };
  const burn: Recording = {
    record: burnName(window),
    expr: `(1 - pacewatch:availability:ratio${window}) / (1 - ${setting("pacewatch_objective_ratio")})
* ${watchedName(window)}`,
  };
  const recordings = [watched, ratio, watchedOver(window, holders), burn];
  if (!GUARDED.has(window)) return recordings;
  // Rounded, because `increase` extrapolates to the edges of the window, and confirmations watch a few seconds.
  const failed = `round(${total(watchedSeconds(window, FAILED))} / ${setting("pacewatch_schedule_period_seconds")})`;
  return [...recordings, { record: failedSlots(window), expr: failed }];
}

/** Of classic buckets or, where Prometheus scrapes native histograms, of those. */
function quantileOf(quantile: string, holders: Holders): Recording {
  const of = (histogram: string, le: string): string =>
    `histogram_quantile(${quantile}, ${holders === ONE ? "sum without (outcome)" : `sum by (${holders.labels}${le})`} (rate(${histogram}{outcome="ok"}[5m])))`;
  return {
    record: "pacewatch:poll_duration_seconds:quantile5m",
    expr: `${of("pacewatch_poll_duration_seconds_bucket", ", le")}
or ${of("pacewatch_poll_duration_seconds", "")}`,
    labels: { quantile },
  };
}

/** Of the ok polls: how long a failure took is not latency. */
function withinObjectiveOver(window: string, { total }: Holders): readonly Recording[] {
  const ok = total(`sum without (outcome) (increase(pacewatch_polls_total${OK}[${window}]))`);
  const within = total(`increase(pacewatch_polls_within_objective_total[${window}])`);
  const ratio: Recording = {
    record: `pacewatch:within_latency_objective:ratio${window}`,
    expr: `${within} / (${ok} > 0)`,
  };
  if (!LATENCY_COUNTED.has(window)) return [ratio];
  return [{ record: `pacewatch:polls_slow:increase${window}`, expr: `round(${ok} - ${within})` }, ratio];
}
