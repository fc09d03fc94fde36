import type { ViolationKind } from "../judge/violation.ts";
import { simulateFleet } from "./simulate.ts";
import type { FleetScenario } from "./scenario.ts";

const MOST_RUNS = 300;

/** Answers with the candidate where it still fails. */
type Trial = (candidate: FleetScenario) => Promise<FleetScenario | undefined>;

/** The same violation with as few faults, upstreams and strange roads as it needs. */
export async function shrinkFleet(scenario: FleetScenario, kind: ViolationKind): Promise<FleetScenario> {
  let runs = 0;
  const failing: Trial = async (candidate) => {
    runs += 1;
    if (runs > MOST_RUNS) return undefined;
    return (await simulateFleet(candidate)).violation?.kind === kind ? candidate : undefined;
  };
  let smallest = scenario;
  let before = Infinity;
  while (sizeOf(smallest) < before) {
    before = sizeOf(smallest);
    smallest = await withFewerHappenings(smallest, failing);
    smallest = await withFewerUpstreams(smallest, failing);
    smallest = (await failing({ ...smallest, roads: new Map(), lagMs: 0 })) ?? smallest;
  }
  return smallest;
}

async function withFewerHappenings(scenario: FleetScenario, failing: Trial): Promise<FleetScenario> {
  let smallest = scenario;
  for (let index = 0; index < smallest.happenings.length;) {
    const happenings = smallest.happenings.toSpliced(index, 1);
    const smaller = await failing({ ...smallest, happenings });
    if (smaller === undefined) index += 1;
    else smallest = smaller;
  }
  return smallest;
}

async function withFewerUpstreams(scenario: FleetScenario, failing: Trial): Promise<FleetScenario> {
  let smallest = scenario;
  for (const { name } of scenario.setup.upstreams) {
    const upstreams = smallest.setup.upstreams.filter((upstream) => upstream.name !== name);
    const budgets = new Set(upstreams.flatMap(({ budgets }) => budgets));
    const accounts = smallest.setup.accounts.filter(({ budget }) => budgets.has(budget.name));
    if (upstreams.length === 0) continue;
    smallest = (await failing({ ...smallest, setup: { accounts, upstreams } })) ?? smallest;
  }
  return smallest;
}

function sizeOf({ happenings, setup, roads, lagMs }: FleetScenario): number {
  return happenings.length + setup.upstreams.length + roads.size + (lagMs > 0 ? 1 : 0);
}
