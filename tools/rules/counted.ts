import { parseDuration } from "../../src/kernel/time/duration.ts";

const LEAST_STEP_S = 15;
const STEPS = 60;

/**
 * Whether anything was counted in this window by a counter that appears when it first counts: by reason, or by cause.
 * `increase` alone does not see what a series is born with. Where the upstream or the process is younger than the window,
 * all that was counted is new.
 */
export function counted(counter: string, window: string): string {
  const all = `sum without (outcome, reason, cause) (${counter})`;
  const seconds = (parseDuration(window) ?? 0) / 1000;
  const stepS = Math.max(LEAST_STEP_S, Math.round(seconds / STEPS));
  return `(
    sum without (outcome, reason, cause) (increase(${counter}[${window}])) > 0
    or increase((${all} or 0 * pacewatch_slots_total)[${window}:${stepS}s]) > 0
    or ${all} > 0
      unless (
        last_over_time(pacewatch_slots_total[1h] offset ${window})
        unless on (job, instance) ${startedWithin(window)}
      )
  )`;
}

/**
 * How much it has grown in this window: all of it where it was not there before, where its process began since, or where it
 * fell. Five minutes are how far back Prometheus looks too, here over a scrape that failed: further back is often another
 * process.
 */
export function grown(counter: string, window: string): string {
  const before = `last_over_time(${counter}[5m] offset ${window})`;
  return `(${counter} - (${before} unless on (job, instance) ${startedWithin(window)}) >= 0 or ${counter})`;
}

function startedWithin(window: string): string {
  return `process_start_time_seconds > time() - ${(parseDuration(window) ?? 0) / 1000}`;
}
