import type { Upstream } from "../config/config.ts";
import { hash32 } from "../schedule/hash.ts";
import { SECOND_MS } from "../time/duration.ts";

export type Spreadable = Pick<Upstream, "name" | "schedule" | "url" | "budgets" | "connection">;

/** Measured: with more in a group they wait for each other's answers, and for each other's handshakes (bench/README.md). */
const GROUP_MS = 8;
const HANDSHAKE_MS = 2;
const OTHERS_MS = 1;
const MOST_GROUPS = 1_024;
const MOST_SHIFT_MS = 15;

type Member = { readonly name: string; readonly takesMs: number; readonly keys: readonly string[] };
type Group = { usedMs: number; readonly has: Set<string> };

/**
 * When in its second each upstream of one schedule begins, in milliseconds and in order. Up to eight begin shortly after
 * each other, or up to four with handshakes, while the processor is warm, then there is a pause: that takes a quarter
 * less CPU than an even spread. Groups are spread evenly, and those of one budget or one host are never in one group, so that
 * no server is sent a burst.
 *
 *      4 groups   |a c f          |b            |d g e         |h
 *
 * The home of an upstream comes from its name. In the order of the config, each takes the first group from there that
 * has room: so one more at the end moves no other, unless the number of groups doubles.
 */
export function spreadWithinSecond(upstreams: readonly Spreadable[]): Map<string, number> {
  const members = upstreams.map(memberOf);
  const groups = Array.from({ length: groupsFor(members) }, (): Group => ({ usedMs: 0, has: new Set() }));
  const stepMs = SECOND_MS / groups.length;
  // Where the pause would be shorter than the group, those of a group begin at once.
  const isAtOnce = stepMs < 2 * GROUP_MS;
  // Two schedules may have the same second: their groups do not begin together.
  const shift = groups.length === 1 ? 0 : fractionOf(upstreams[0]?.schedule.expression ?? "");
  const firstMs = shift * Math.min(MOST_SHIFT_MS, isAtOnce ? stepMs : stepMs - GROUP_MS);
  const groupsWith = new Map<string, number>();
  const offsetsMs = members.map((member): [string, number] => {
    const { name, takesMs, keys } = member;
    const home = Math.floor(fractionOf(name) * groups.length);
    // One that is in every group already is apart from itself nowhere: to look for that would take long.
    const isEverywhere = keys.some((key) => groupsWith.get(key) === groups.length);
    const place = isEverywhere ? home : placeFrom(home, groups, member);
    const group = groups[place];
    const offsetMs = firstMs + place * stepMs + (isAtOnce ? 0 : (group?.usedMs ?? 0));
    for (const key of keys) {
      if (group?.has.has(key) === false) groupsWith.set(key, (groupsWith.get(key) ?? 0) + 1);
      group?.has.add(key);
    }
    if (group !== undefined) group.usedMs += takesMs;
    return [name, Math.floor(offsetMs)];
  });
  return new Map(offsetsMs.toSorted(([, a], [, b]) => a - b));
}

function memberOf({ name, url, budgets, connection }: Spreadable): Member {
  const { host, protocol } = new URL(url);
  const takesMs = protocol === "https:" && connection === "fresh" ? HANDSHAKE_MS : OTHERS_MS;
  return { name, takesMs, keys: [host, ...budgets.map((budget) => `budget ${budget}`)] };
}

/** A power of two, so that it seldom changes. */
function groupsFor(members: readonly Member[]): number {
  const counts = new Map<string, number>();
  let usedMs = 0;
  for (const { takesMs, keys } of members) {
    usedMs += takesMs;
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const needed = Math.max(1, usedMs / GROUP_MS, ...counts.values());
  return Math.min(MOST_GROUPS, 2 ** Math.ceil(Math.log2(needed)));
}

function placeFrom(home: number, groups: readonly Group[], { takesMs, keys }: Member): number {
  const isApart = ({ has }: Group): boolean => !keys.some((key) => has.has(key));
  const hasRoom = (group: Group): boolean => group.usedMs + takesMs <= GROUP_MS && isApart(group);
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
