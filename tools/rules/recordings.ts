import { formatDuration, MINUTE_MS, parseDuration } from "../../src/kernel/time/duration.ts";
import { type Processes, ONE } from "./processes.ts";
import type { Recording, RuleGroup } from "./rule.ts";

export const MONTH = "30d";

/** Long windows are expensive to evaluate, and a minute more or less does not matter there. */
const LONG_WINDOWS: readonly string[] = ["1d", "3d", MONTH];
const LONG_INTERVAL = "1m";
const SHORT_WINDOWS: readonly string[] = ["5m", "30m", "1h", "2h", "6h"];
/** Of each of these, failed slots are counted, the shortest first. */
const GUARDED: readonly string[] = [...SHORT_WINDOWS, ...LONG_WINDOWS].filter((window) => window !== MONTH);

/** No guard of an error-budget alert waits for more. */
const MOST_GUARD_SLOTS = 6;

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

/** What a poll from before a reload watched may be told so long after it. */
const TOLD_WITHIN_MS = 5 * MINUTE_MS;

/** The period of the slowest schedule of a window: by a quicker one, a failed poll of the slow one would be many slots. */
export function longestPeriod(window: string, { greatest }: Processes): string {
  const withinMs = (parseDuration(window) ?? 0) + TOLD_WITHIN_MS;
  return greatest("pacewatch_schedule_period_seconds", formatDuration(withinMs));
}

/**
 * How much of the window was watched, of what its schedule watches at most: a day or more has the nights of a calendar in
 * it, and an hour has not.
 */
function watchedOver(window: string, { setting }: Processes): Recording {
  const seconds = (parseDuration(window) ?? 0) / 1_000;
  const most = LONG_WINDOWS.includes(window)
    ? `(${seconds} * (${setting("pacewatch_schedule_watched_ratio")} or 0 * ${setting("pacewatch_objective_ratio")} + 1))`
    : `${seconds}`;
  return { record: watchedName(window), expr: `clamp_max(${watchedSecondsName(window)} / ${most}, 1)` };
}

export function watchedName(window: string): string {
  return `pacewatch:watched:ratio${window}`;
}

export function recordingGroups(processes: Processes = ONE): readonly RuleGroup[] {
  const availability = (window: string): readonly Recording[] => availabilityOver(window, processes);
  const withinObjective = (window: string): readonly Recording[] => withinObjectiveOver(window, processes);
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
        ...QUANTILES.map((quantile) => quantileOf(quantile, processes)),
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
function availabilityOver(window: string, processes: Processes): readonly Recording[] {
  const { total, setting } = processes;
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
  const recordings = [watched, ratio, watchedOver(window, processes), burn];
  if (!GUARDED.includes(window)) return recordings;
  return [...recordings, { record: failedSlots(window), expr: slotsFailed(window, processes) }];
}

/**
 * Where a shorter window has enough for any guard, it decides: soon after a reload, a quick schedule has that for itself, and
 * the longer one is still counted in slots of the slow schedule.
 */
function slotsFailed(window: string, processes: Processes): string {
  const slots = `${processes.total(watchedSeconds(window, FAILED))} / ${longestPeriod(window, processes)}`;
  const shorter = GUARDED[GUARDED.indexOf(window) - 1];
  // `increase` extrapolates to the edges of the window, and confirmations watch a few seconds: in five minutes that is much.
  if (shorter === undefined) return `floor(${slots})`;
  return `${failedSlots(shorter)} >= ${MOST_GUARD_SLOTS}\nor round(${slots})`;
}

/** Of classic buckets or, where Prometheus scrapes native histograms, of those. */
function quantileOf(quantile: string, processes: Processes): Recording {
  const of = (histogram: string, le: string): string =>
    `histogram_quantile(${quantile}, ${processes === ONE ? "sum without (outcome)" : `sum by (${processes.labels}${le})`} (rate(${histogram}{outcome="ok"}[5m])))`;
  return {
    record: "pacewatch:poll_duration_seconds:quantile5m",
    expr: `${of("pacewatch_poll_duration_seconds_bucket", ", le")}
or ${of("pacewatch_poll_duration_seconds", "")}`,
    labels: { quantile },
  };
}

/** Of the ok polls: how long a failure took is not latency. */
function withinObjectiveOver(window: string, { total }: Processes): readonly Recording[] {
  const ok = total(`sum without (outcome) (increase(pacewatch_polls_total${OK}[${window}]))`);
  const within = total(`increase(pacewatch_polls_within_objective_total[${window}])`);
  const ratio: Recording = {
    record: `pacewatch:within_latency_objective:ratio${window}`,
    expr: `${within} / (${ok} > 0)`,
  };
  if (!LATENCY_COUNTED.has(window)) return [ratio];
  return [{ record: `pacewatch:polls_slow:increase${window}`, expr: `round(${ok} - ${within})` }, ratio];
}
