import type { Upstream } from "../config/config.ts";
import { hash32 } from "../schedule/hash.ts";
import { SECOND_MS } from "../time/duration.ts";

export type Spreadable = Pick<Upstream, "name" | "schedule" | "url" | "budgets">;

/** Measured: with more, or closer, they wait for each other's answers (bench/README.md). */
const MOST_IN_A_GROUP = 4;
const GAP_MS = 2;
const MOST_GROUPS = 1_024;
const MOST_SHIFT_MS = 15;

type Group = { size: number; readonly has: Set<string> };

/**
 * When in its second each upstream of one schedule begins, in milliseconds and in order. A few begin shortly after each
 * other, while the processor is warm, then there is a pause: that takes a fifth less CPU than an even spread. Groups are
 * spread evenly, and those of one budget or one host are never in one group, so that no server is sent a burst.
 *
 *      4 groups   |a c f          |b            |d g e         |h
 *
 * The home of an upstream comes from its name. In the order of the config, each takes the first group from there that
 * has room: so one more at the end moves no other, unless the number of groups doubles.
 */
export function spreadWithinSecond(members: readonly Spreadable[]): Map<string, number> {
  const apart = members.map(({ url, budgets }) => [
    new URL(url).host,
    ...budgets.map((name) => `budget ${name}`),
  ]);
  const groups = Array.from({ length: groupsFor(apart) }, (): Group => ({ size: 0, has: new Set() }));
  const stepMs = SECOND_MS / groups.length;
  // Where there would be no pause, those of a group begin at once.
  const gapMs = stepMs > GAP_MS * MOST_IN_A_GROUP ? GAP_MS : 0;
  // Two schedules may have the same second: their groups do not begin together.
  const shift = groups.length === 1 ? 0 : fractionOf(members[0]?.schedule.expression ?? "");
  const firstMs = shift * Math.min(MOST_SHIFT_MS, stepMs - gapMs * MOST_IN_A_GROUP);
  const groupsWith = new Map<string, number>();
  const offsetsMs = members.map(({ name }, index): [string, number] => {
    const keys = apart[index] ?? [];
    const home = Math.floor(fractionOf(name) * groups.length);
    // One that is in every group already is apart from itself nowhere: to look for that would take long.
    const isEverywhere = keys.some((key) => groupsWith.get(key) === groups.length);
    const place = isEverywhere ? home : placeFrom(home, groups, keys);
    const offsetMs = firstMs + place * stepMs + (groups[place]?.size ?? 0) * gapMs;
    for (const key of keys) {
      if (groups[place]?.has.has(key) === false) groupsWith.set(key, (groupsWith.get(key) ?? 0) + 1);
      groups[place]?.has.add(key);
    }
    if (groups[place] !== undefined) groups[place].size += 1;
    return [name, Math.floor(offsetMs)];
  });
  return new Map(offsetsMs.toSorted(([, a], [, b]) => a - b));
}

/** A power of two, so that it seldom changes. */
function groupsFor(apart: readonly (readonly string[])[]): number {
  const counts = new Map<string, number>();
  for (const key of apart.flat()) counts.set(key, (counts.get(key) ?? 0) + 1);
  const needed = Math.max(1, apart.length / MOST_IN_A_GROUP, ...counts.values());
  return Math.min(MOST_GROUPS, 2 ** Math.ceil(Math.log2(needed)));
}

function placeFrom(home: number, groups: readonly Group[], keys: readonly string[]): number {
  const isApart = ({ has }: Group): boolean => !keys.some((key) => has.has(key));
  const hasRoom = (group: Group): boolean => group.size < MOST_IN_A_GROUP && isApart(group);
  for (const fits of [hasRoom, isApart]) {
    for (let step = 0; step < groups.length; step += 1) {
      const place = (home + step) % groups.length;
      const group = groups[place];
      if (group !== undefined && fits(group)) return place;
    }
  }
  // More of one host than there are milliseconds.
  return home;
}

/** 0 ≤ fraction < 1. */
function fractionOf(text: string): number {
  return hash32(text) / 2 ** 32;
}
