import type { Happening, Scenario, Setup } from "../world/scenario.ts";
import { fits } from "../world/setup.ts";
import { simulate } from "../simulate.ts";
import type { ViolationKind } from "../judge/violation.ts";

const MOST_RUNS = 400;
/** Chance decides otherwise once something is left out: so a few chances are tried. */
const CHANCES = ["", "'", "''"];
const MINUTE_MS = 60_000;
const MOST_STARTS = 30;

/** Answers with the candidate, perhaps under another star, where it still fails. */
type Trial = (candidate: Scenario) => Promise<Scenario | undefined>;

/** The same violation with as few faults, upstreams and keys as it needs: what is left is the story. */
export async function shrink(scenario: Scenario, kind: ViolationKind): Promise<Scenario> {
  let runs = 0;
  const failing: Trial = async (candidate) => {
    for (const chance of CHANCES) {
      runs += 1;
      if (runs > MOST_RUNS) return undefined;
      const chanced = { ...candidate, seed: scenario.seed + chance };
      if ((await simulate(chanced)).violation?.kind === kind) return chanced;
    }
    return undefined;
  };
  let smallest = (await failing({ ...scenario, lengthMs: 0 })) ?? scenario;
  let before = Infinity;
  while (sizeOf(smallest) < before) {
    before = sizeOf(smallest);
    smallest = await withFewerHappenings(smallest, failing);
    smallest = await withFewerUpstreams(smallest, failing);
    smallest = await withCalmerRoads(smallest, failing);
  }
  return soonerStory(smallest, failing);
}

/** Leaves out halves, then quarters, down to single ones. */
async function withFewerHappenings(scenario: Scenario, failing: Trial): Promise<Scenario> {
  let smallest = scenario;
  let size = Math.ceil(smallest.happenings.length / 2);
  while (size >= 1) {
    for (let from = 0; from < smallest.happenings.length;) {
      const happenings: readonly Happening[] = smallest.happenings.toSpliced(from, size);
      const candidate = { ...smallest, happenings };
      const smaller = await failing(candidate);
      if (smaller === undefined) from += size;
      else smallest = smaller;
    }
    size = size === 1 ? 0 : Math.ceil(size / 2);
  }
  return smallest;
}

async function withFewerUpstreams(scenario: Scenario, failing: Trial): Promise<Scenario> {
  let smallest = scenario;
  for (const { name } of scenario.setup.upstreams) {
    const setup = without(smallest.setup, name);
    const candidate = { ...smallest, setup };
    if (fits(setup)) smallest = (await failing(candidate)) ?? smallest;
  }
  return smallest;
}

function without({ accounts, upstreams }: Setup, name: string): Setup {
  const kept = upstreams.filter((upstream) => upstream.name !== name);
  const budgets = new Set(kept.flatMap(({ budgets }) => budgets));
  return { accounts: accounts.filter(({ budget }) => budgets.has(budget.name)), upstreams: kept };
}

async function withCalmerRoads(scenario: Scenario, failing: Trial): Promise<Scenario> {
  const roads = new Map([...scenario.roads.keys()].map((name) => [name, "quick"] as const));
  const candidate = { ...scenario, roads, lagMs: 0 };
  const isCalm = scenario.lagMs === 0 && [...scenario.roads.values()].every((road) => road === "quick");
  return (isCalm ? undefined : await failing(candidate)) ?? scenario;
}

/** By whole minutes, so that most slots stay where they are within their minute. */
async function soonerStory(scenario: Scenario, failing: Trial): Promise<Scenario> {
  const firstMinute = Math.floor((scenario.happenings[0]?.atMs ?? 0) / MINUTE_MS);
  const starts = Array.from({ length: Math.min(MOST_STARTS, firstMinute) }, (_, minute) => minute);
  for (const start of starts) {
    const soonerMs = (firstMinute - start) * MINUTE_MS;
    const happenings = scenario.happenings.map((each) => ({ ...each, atMs: each.atMs - soonerMs }));
    const candidate = { ...scenario, happenings };
    const sooner = await failing(candidate);
    if (sooner !== undefined) return sooner;
  }
  return scenario;
}

function sizeOf({ happenings, setup, roads, lagMs }: Scenario): number {
  const wild = [...roads.values()].filter((road) => road !== "quick").length;
  return happenings.length + setup.upstreams.length + wild + (lagMs > 0 ? 1 : 0);
}
