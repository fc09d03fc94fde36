import type { FleetRecovery } from "./recovery.ts";
import type { Replica } from "../replica/replica.ts";
import { servedInTime } from "../../world/setup.ts";
import type { FleetScenario } from "../scenario.ts";

/** What must hold of a whole fleet. Each answers with what is wrong, in words. */

const LEAST_USE = 0.9;

export function accountsFault(replicas: Iterable<Replica>): string | undefined {
  for (const { name, tallies } of replicas) {
    for (const [upstream, tally] of tallies) {
      const fault = tally.fault();
      if (fault !== undefined) return `the accounts of ${upstream} at ${name} do not close: ${fault}`;
    }
  }
  return undefined;
}

/** Where all poll all, the seat of one that was killed is kept for a day, and who comes in its place has less. */
function inFull({ fleet }: FleetScenario, living: readonly Replica[]): readonly Replica[] {
  return fleet.mode === "shard" || fleet.reserve === 0
    ? living
    : living.filter(({ ledger }) => ledger.hasSeat);
}

/** In a shard somebody has to poll each upstream, else everybody who has a part in the fleet. */
export function lostUpstream(
  scenario: FleetScenario,
  living: readonly Replica[],
  { calmFromMs, recoveredAtMs }: FleetRecovery,
): string | undefined {
  const withinMs = Math.round(recoveredAtMs - calmFromMs);
  for (const { name } of scenario.setup.upstreams) {
    const late = inFull(scenario, living).filter(
      (replica) => (replica.tallies.get(name)?.lastOkAtMs ?? 0) < calmFromMs,
    );
    const isLost = scenario.fleet.mode === "shard" ? late.length === living.length : late.length > 0;
    if (!isLost) continue;
    const who = scenario.fleet.mode === "shard" ? "anybody" : (late[0]?.name ?? "anybody");
    return `${name} was not polled again by ${who} within ${withinMs} ms after the last fault`;
  }
  return undefined;
}

export type Polls = ReadonlyMap<string, number>;

/** By upstream and, where all poll all, by replica. */
export function pollsSoFar({ fleet }: FleetScenario, replicas: Iterable<Replica>): Polls {
  const polls = new Map<string, number>();
  for (const replica of replicas) {
    for (const [upstream, tally] of replica.tallies) {
      const key = fleet.mode === "shard" ? upstream : `${upstream} at ${replica.name}`;
      polls.set(key, (polls.get(key) ?? 0) + tally.polls);
    }
  }
  return polls;
}

export function idleUpstream(
  scenario: FleetScenario,
  living: readonly Replica[],
  before: Polls,
  after: Polls,
  withinMs: number,
): string | undefined {
  const { setup, fleet } = scenario;
  for (const { name, schedule } of servedInTime(setup)) {
    const keys =
      fleet.mode === "shard"
        ? [name]
        : inFull(scenario, living).map((replica) => `${name} at ${replica.name}`);
    for (const key of keys) {
      const polls = (after.get(key) ?? 0) - (before.get(key) ?? 0);
      const slots = Math.floor(withinMs / schedule.longestGapMs);
      // One slot may lie on the edge of what is watched.
      if (polls + 1 < LEAST_USE * slots)
        return `${key} used ${polls} of ${slots} slots, and nothing hindered it`;
    }
  }
  return undefined;
}
