/** Whether an objective can be judged at this polling rate, and how many failures make it certain. */

import type { Upstream } from "../kernel/config/config.ts";
import { DAY_MS, formatDuration, HOUR_MS, MINUTE_MS } from "../kernel/time/duration.ts";
import type { Finding } from "./part.ts";
import { counted } from "../kernel/exchange/json-value.ts";
import { listing } from "../kernel/text/listing.ts";
import { formatPercentage } from "../kernel/text/percent.ts";
import { slotsOf } from "../kernel/schedule/schedule.ts";
import { ROUND_PERIODS_MS } from "./findings.ts";

/** An alert on an error budget: both windows must burn it faster than `factor`. */
export type BurnPair = {
  readonly longMs: number;
  readonly shortMs: number;
  readonly factor: number;
  readonly severity: "page" | "ticket";
};

/** The fast page: 2 % of a month's error budget in an hour. */
const FAST_PAGE: BurnPair = { longMs: HOUR_MS, shortMs: 5 * MINUTE_MS, factor: 14.4, severity: "page" };

export const BURN_PAIRS: readonly BurnPair[] = [
  FAST_PAGE,
  { longMs: 6 * HOUR_MS, shortMs: 30 * MINUTE_MS, factor: 6, severity: "page" },
  { longMs: DAY_MS, shortMs: 2 * HOUR_MS, factor: 3, severity: "ticket" },
  { longMs: 3 * DAY_MS, shortMs: 6 * HOUR_MS, factor: 1, severity: "ticket" },
];

/** How seldom a service is polled while it is watched, and the objective. Nights without slots are not watched, and so burn nothing. */
export type Density = {
  readonly periodMs: number;
  readonly availability: number;
};

/** For an upstream that just meets its objective, at most one window in this many may page by chance. */
const WINDOWS_PER_FALSE_PAGE = 1000;

export const BEYOND_ONE_SLOT = 2;

/** Usual objectives, the highest first. */
const LADDER: readonly number[] = [0.9999, 0.9995, 0.999, 0.998, 0.995, 0.99, 0.98, 0.95, 0.9];

export function densityOf(upstream: Upstream): Density {
  return {
    periodMs: slotsOf(upstream.schedule).usualGapMs,
    availability: upstream.objective.availability,
  };
}

/**
 * For the time of how many failed slots in the long window an alert waits: of as many as burn a full window, as the time that
 * was not watched burns nothing, and never of so few that they mean nothing. Infinite if the short window may hold no poll: the alert would
 * fire and resolve between two polls.
 */
export function guardFailures(density: Density, pair: BurnPair): number {
  return Math.max(failuresThatBurn(density, pair), fewestThatMean(density, pair));
}

/** The fewest failed slots that burn a full long window faster than the pair allows. */
export function failuresThatBurn(density: Density, pair: BurnPair): number {
  return Math.floor(pair.factor * (1 - density.availability) * slotsIn(density, pair) + 1e-9) + 1;
}

/** More than one slot, whose confirmations watch next to nothing; for a page, also more than chance reaches. The rules' own guard. */
export function fewestThatMean(density: Density, pair: BurnPair): number {
  if (pair.shortMs < 2 * density.periodMs) return Infinity;
  if (pair.severity === "ticket") return BEYOND_ONE_SLOT;
  return Math.max(BEYOND_ONE_SLOT, failuresBeyondChance(slotsIn(density, pair) * (1 - density.availability)));
}

/** One for all upstreams alike whose objective the fast page cannot judge at their polling rate. */
export function densityWarnings(upstreams: readonly Upstream[]): readonly Finding[] {
  const unjudged = upstreams.filter((upstream) => !isJudged(densityOf(upstream)));
  const alike = Map.groupBy(unjudged, askedOf);
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const density = densityOf(first);
    const names = listing(group.map(({ name }) => `"${name}"`));
    const who = group.length === 1 ? `upstream ${names} ` : `upstreams ${names}: each `;
    const message = `${who}${whyNot(density, askedOf(first))}${whatWouldDo(density)}`;
    return [{ subject: { kind: "upstream", upstream: first.name, about: "schedule" }, message }];
  });
}

function askedOf({ schedule, objective }: Upstream): string {
  const rate = slotsOf(schedule).isEven ? `one poll ${schedule.source}` : schedule.source;
  return `${formatPercentage(objective.availability)} at ${rate}`;
}

function isJudged(density: Density): boolean {
  return failuresThatBurn(density, FAST_PAGE) === guardFailures(density, FAST_PAGE);
}

function whyNot(density: Density, asked: string): string {
  const guard = guardFailures(density, FAST_PAGE);
  const longWindow = formatDuration(FAST_PAGE.longMs);
  if (guard === Infinity) {
    return `is polled too rarely for its ${longWindow} error-budget page (${asked}), which the rules leave out`;
  }
  const burning = failuresThatBurn(density, FAST_PAGE);
  return `cannot be judged well: ${asked}: ${counted(burning, "failure")} in ${longWindow} would already page, so the rules wait for ${guard}`;
}

function whatWouldDo(density: Density): string {
  const periodMs = ROUND_PERIODS_MS.findLast(
    (periodMs) => periodMs < density.periodMs && isJudged({ ...density, periodMs }),
  );
  const availability = LADDER.find(
    (lower) => lower < density.availability && isJudged({ ...density, availability: lower }),
  );
  const ways = [
    periodMs === undefined ? undefined : `poll at least every ${formatDuration(periodMs)}`,
    availability === undefined ? undefined : `aim at ${formatPercentage(availability)}`,
  ].filter((way) => way !== undefined);
  return ways.length === 0 ? "" : `; ${ways.join(" or ")}`;
}

function slotsIn(density: Density, pair: BurnPair): number {
  return pair.longMs / density.periodMs;
}

/** The least count that a Poisson process of this mean reaches rarely enough. In logarithms, as e^-mean may be 0. */
function failuresBeyondChance(mean: number): number {
  let count = 0;
  let logTerm = -mean;
  let below = 0;
  while (1 - below > 1 / WINDOWS_PER_FALSE_PAGE) {
    below += Math.exp(logTerm);
    count += 1;
    logTerm += Math.log(mean / count);
  }
  return count;
}
