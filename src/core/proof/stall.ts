import type { Config, Upstream } from "../config/config.ts";
import { MINUTE_MS } from "../time/duration.ts";

/**
 * After how long without a poll an upstream of this config is stalled: three of its longest gaps, and a minute. A budget
 * that a reload adds is silent until nothing of a former life can count, so without that silence every reload could page.
 */
export function stallTimes({
  budgets,
  upstreams,
}: Pick<Config, "budgets" | "upstreams">): (upstream: Upstream) => number {
  const longestTimeoutMs = Math.max(0, ...upstreams.map(({ timeoutMs }) => timeoutMs));
  const silentMs = new Map(
    budgets.map(({ name, rates, lingerMs }) => [
      name,
      Math.max(...rates.map(({ perMs }) => perMs)) + lingerMs,
    ]),
  );
  return ({ budgets: own, schedule }) => {
    const longestSilenceMs =
      Math.max(0, ...own.map((budget) => silentMs.get(budget) ?? 0)) + longestTimeoutMs;
    return Math.ceil((3 * schedule.longestGapMs + longestSilenceMs) / 1000) * 1000 + MINUTE_MS;
  };
}
