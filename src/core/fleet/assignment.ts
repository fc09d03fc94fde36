/**
 * Who should hold what. Every replica computes it from the same facts and gets the same answer: a group stays where it
 * is, and moves only when that evens out the load.
 */

import type { Group } from "./groups.ts";

/** How far from an even part a replica's load may be before groups move. */
const TOLERANCE = 0.09;
const ROUNDING = 1e-9;

export type Assignment = ReadonlyMap<string, string>;

type Load = Pick<Group, "id" | "pollsPerSecond">;
type Replica = { readonly name: string; readonly held: Set<Load>; load: number };

/**
 * By group. Free ones go, the largest first, to the replica that has the least. Then the fullest replica hands groups
 * to the emptiest, as long as one of them is more than 9 % away from even and the move brings the two nearer to each
 * other: so the moves come to an end, in whatever order they are made, and nothing is handed back.
 */
export function assign(
  groups: readonly Load[],
  names: readonly string[],
  holderOf: (group: string) => string | undefined,
): Assignment {
  const replicas = names.toSorted().map((name): Replica => ({ name, held: new Set(), load: 0 }));
  if (replicas.length === 0) return new Map();
  const byName = new Map(replicas.map((replica) => [replica.name, replica]));
  const free: Load[] = [];
  for (const group of groups) {
    const holder = byName.get(holderOf(group.id) ?? "");
    if (holder === undefined) free.push(group);
    else give(holder, group);
  }
  free.sort((a, b) => b.pollsPerSecond - a.pollsPerSecond || (a.id < b.id ? -1 : 1));
  for (const group of free) give(emptiestOf(replicas), group);
  balance(replicas);
  return new Map(replicas.flatMap(({ name, held }) => [...held].map(({ id }) => [id, name] as const)));
}

function give(replica: Replica, group: Load): void {
  replica.held.add(group);
  replica.load += group.pollsPerSecond;
}

function emptiestOf(replicas: readonly Replica[]): Replica {
  return replicas.reduce((a, b) => (b.load < a.load - ROUNDING ? b : a));
}

function balance(replicas: readonly Replica[]): void {
  const even = replicas.reduce((sum, { load }) => sum + load, 0) / replicas.length;
  for (;;) {
    const rich = replicas.reduce((a, b) => (b.load > a.load + ROUNDING ? b : a));
    const poor = emptiestOf(replicas);
    if (poor.load >= even * (1 - TOLERANCE) && rich.load <= even * (1 + TOLERANCE)) return;
    const group = evenestMove(rich.held, rich.load - poor.load);
    if (group === undefined) return;
    rich.held.delete(group);
    rich.load -= group.pollsPerSecond;
    give(poor, group);
  }
}

/** What is more than the whole difference would only swap who has too much. */
function evenestMove(held: Iterable<Load>, difference: number): Load | undefined {
  const distance = ({ pollsPerSecond }: Load): number => Math.abs(difference - 2 * pollsPerSecond);
  let best: Load | undefined;
  for (const group of held) {
    const isBetter = group.pollsPerSecond > 0 && group.pollsPerSecond < difference * (1 - 1e-6);
    if (!isBetter) continue;
    const closer = best === undefined ? -1 : distance(group) - distance(best);
    if (closer < -ROUNDING || (closer <= ROUNDING && best !== undefined && group.id < best.id)) best = group;
  }
  return best;
}
