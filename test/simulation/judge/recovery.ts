import { endOf, type Scenario, type Setup } from "../world/scenario.ts";
import { edited } from "../world/setup.ts";

/** How long after its last fault a scenario is watched, and what is expected when. */
export type Recovery = {
  /** All faults are over, and the network is calm. */
  readonly calmFromMs: number;
  /** Everything was polled again, and nothing of the past hinders any more. */
  readonly recoveredAtMs: number;
  readonly endMs: number;
};

const DRAIN_AT_MOST_MS = 10_000;
const PERIODS_TO_WATCH = 15;

/** The setups that come into force one after the other, first the one at the start. */
export function setupsOf({ setup, happenings }: Scenario): readonly Setup[] {
  const setups = [setup];
  let current = setup;
  for (const happening of happenings) {
    if (happening.kind !== "reload") continue;
    current = edited(current, happening.edit);
    setups.push(current);
  }
  return setups;
}

export function recoveryOf(scenario: Scenario, setups: readonly Setup[]): Recovery {
  const last = setups.at(-1) ?? scenario.setup;
  const calmFromMs = Math.max(0, ...scenario.happenings.map(endOf));
  const recoveredAtMs = calmFromMs + boundMs(setups);
  const longestPeriodMs = longest(last.upstreams.map(({ schedule }) => schedule.longestGapMs));
  const endMs = Math.max(scenario.lengthMs, recoveredAtMs + PERIODS_TO_WATCH * longestPeriodMs);
  return { calmFromMs, recoveredAtMs, endMs };
}

/**
 * The longest pause, then what may follow one another: a drain, a cold start or an unknown past to wait for, a lowered
 * cap to outlast while the leases of a burst end, and yielding, where only one slot in four is used.
 */
function boundMs(setups: readonly Setup[]): number {
  const budgets = setups.flatMap(({ accounts }) => accounts.map(({ budget }) => budget));
  const upstreams = setups.flatMap((setup) => setup.upstreams);
  const windowMs = longest(budgets.flatMap(({ rates }) => rates.map(({ perMs }) => perMs)));
  const timeoutMs = longest(upstreams.map((upstream) => upstream.timeoutMs));
  const lingerMs = longest(budgets.map((budget) => budget.lingerMs));
  const periodMs = longest(upstreams.map(({ schedule }) => schedule.longestGapMs));
  const pauseMs = longest(budgets.map((budget) => budget.maxPauseMs));
  return pauseMs + DRAIN_AT_MOST_MS + 3 * (1.001 * windowMs + timeoutMs + lingerMs) + 6 * periodMs + 5_000;
}

function longest(valuesMs: readonly number[]): number {
  return Math.max(0, ...valuesMs);
}
