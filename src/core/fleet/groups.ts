/**
 * Upstreams that draw on a common budget belong together, directly or by others in between: whoever polls one of them
 * polls all, so that each budget has one holder.
 */

import type { Upstream } from "../config/config.ts";
import { cronOf } from "../schedule/schedule.ts";
import { DAY_MS, SECOND_MS } from "../time/duration.ts";

export type Group = {
  /** The first of its names. */
  readonly id: string;
  /** Names on the board: of its budgets, then of its upstreams. */
  readonly names: readonly string[];
  readonly budgets: readonly string[];
  readonly upstreams: readonly string[];
  /** Its schedules ask for so many polls. */
  readonly pollsPerSecond: number;
};

export type Drawing = Pick<Upstream, "name" | "budgets" | "schedule" | "auth">;

/** A budget and an upstream may have the same name. */
export function budgetOnBoard(budget: string): string {
  return `b:${budget}`;
}

export function upstreamOnBoard(upstream: string): string {
  return `u:${upstream}`;
}

/** The budgets of its polls, and those of its access tokens. */
function budgetsDrawnOn({ budgets, auth }: Pick<Drawing, "budgets" | "auth">): readonly string[] {
  return auth.kind === "oauth2" ? [...new Set([...budgets, ...auth.token.budgets])] : budgets;
}

/** By upstream, all that whoever polls it must hold, by names on the board. */
export function namesNeededBy(upstreams: readonly Drawing[]): ReadonlyMap<string, readonly string[]> {
  return new Map(
    upstreams.map((upstream) => [
      upstream.name,
      [upstreamOnBoard(upstream.name), ...budgetsDrawnOn(upstream).map(budgetOnBoard)],
    ]),
  );
}

export function groupsOf(upstreams: readonly Drawing[]): readonly Group[] {
  const leaders = new Map<string, string>();
  const leaderOf = (budget: string): string => {
    let leader = budget;
    for (let next = leaders.get(leader); next !== undefined && next !== leader; next = leaders.get(leader))
      leader = next;
    leaders.set(budget, leader);
    return leader;
  };
  for (const upstream of upstreams) {
    const [first = "", ...others] = budgetsDrawnOn(upstream).map(leaderOf);
    for (const other of others) leaders.set(leaderOf(other), leaderOf(first));
  }
  const members = Map.groupBy(upstreams, (upstream) => leaderOf(budgetsDrawnOn(upstream)[0] ?? ""));
  return [...members.values()].map(groupOf).sort((a, b) => (a.id < b.id ? -1 : 1));
}

function groupOf(members: readonly Drawing[]): Group {
  const budgets = [...new Set(members.flatMap(budgetsDrawnOn))].sort();
  const upstreams = members.map(({ name }) => name).sort();
  const names = [...budgets.map(budgetOnBoard), ...upstreams.map(upstreamOnBoard)];
  const pollsPerDay = members.reduce((sum, { schedule }) => sum + cronOf(schedule).slotsPerDay, 0);
  return {
    id: names[0] ?? "",
    names,
    budgets,
    upstreams,
    pollsPerSecond: (pollsPerDay * SECOND_MS) / DAY_MS,
  };
}

/** The budget of a name on the board, if it is one's. */
export function budgetNamed(name: string): string | undefined {
  return name.startsWith("b:") ? name.slice(2) : undefined;
}

export function upstreamNamed(name: string): string | undefined {
  return name.startsWith("u:") ? name.slice(2) : undefined;
}
