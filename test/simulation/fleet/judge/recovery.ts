import { endOf, type FleetScenario } from "../scenario.ts";

/** How long after its last fault a fleet is watched, and what is expected when. */
export type FleetRecovery = {
  readonly calmFromMs: number;
  /** Everything was polled again by whoever should, and nothing of the past hinders any more. */
  readonly recoveredAtMs: number;
  readonly endMs: number;
  /** What was sent so long ago is counted by nobody any more. */
  readonly forgottenMs: number;
};

const DRAIN_AT_MOST_MS = 10_000;
const PERIODS_TO_WATCH = 12;

export function fleetRecoveryOf(scenario: FleetScenario): FleetRecovery {
  const { setup, fleet } = scenario;
  const calmFromMs = Math.max(0, ...scenario.happenings.map(endOf));
  const budgets = setup.accounts.map(({ budget }) => budget);
  const windowMs = longest(budgets.flatMap(({ rates }) => rates.map(({ perMs }) => perMs)));
  const timeoutMs = longest(setup.upstreams.map((upstream) => upstream.timeoutMs));
  const lingerMs = longest(budgets.map((budget) => budget.lingerMs));
  const periodMs = longest(setup.upstreams.map(({ schedule }) => schedule.longestGapMs));
  const pauseMs = longest(budgets.map((budget) => budget.maxPauseMs));
  const forgottenMs = 1.001 * windowMs + 3 * timeoutMs + lingerMs + 2_000;
  // A store that is known anew refuses until the past is forgotten, twice where its clock was stepped meanwhile.
  const boundMs = pauseMs + DRAIN_AT_MOST_MS + 3 * forgottenMs + 3 * fleet.ttlMs + 6 * periodMs + 5_000;
  const recoveredAtMs = calmFromMs + boundMs;
  const endMs = Math.max(scenario.lengthMs, recoveredAtMs + PERIODS_TO_WATCH * periodMs);
  return { calmFromMs, recoveredAtMs, endMs, forgottenMs };
}

function longest(valuesMs: readonly number[]): number {
  return Math.max(0, ...valuesMs);
}
