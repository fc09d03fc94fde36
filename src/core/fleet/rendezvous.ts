/**
 * Who should hold what. Every replica computes it from the same facts and gets the same answer: an upstream goes to
 * the replica with the highest hash for it, and moves only when it must.
 */

import { hash32 } from "../schedule/hash.ts";

/** How far from an even part a replica may be before upstreams move to balance it. */
const TOLERANCE = 0.09;

export type Part = { readonly least: number; readonly most: number };

/** The size of a replica's part: within 9 % of even, or the whole numbers around it if 9 % is less than one. */
export function partOf(upstreams: number, replicas: number): Part {
  const even = upstreams / replicas;
  return {
    least: Math.min(Math.floor(even), Math.ceil(even * (1 - TOLERANCE))),
    most: Math.max(Math.ceil(even), Math.floor(even * (1 + TOLERANCE))),
  };
}

export type Assignment = ReadonlyMap<string, string>;

/**
 * Every upstream stays where it is, unless its holder is over `most`. Free upstreams go first to replicas that have
 * too few. What these still lack is taken from those that can spare it. In whatever order and pieces the moves are
 * made, they come to an end: nothing that was handed over is assigned back.
 */
export function assign(
  upstreams: readonly string[],
  names: readonly string[],
  holderOf: (upstream: string) => string | undefined,
): Assignment {
  const replicas = names.toSorted().map(newReplica);
  if (replicas.length === 0) return new Map();
  const part = partOf(upstreams.length, replicas.length);
  const byName = new Map(replicas.map((replica) => [replica.name, replica]));
  const free: Item[] = [];
  for (const upstream of upstreams.toSorted()) {
    const item = { upstream, hash: hash32(upstream) };
    const holder = byName.get(holderOf(upstream) ?? "");
    if (holder === undefined) free.push(item);
    else holder.held.push(item);
  }
  for (const replica of replicas) free.push(...shedBeyond(replica, part.most));
  free.sort((a, b) => (a.upstream < b.upstream ? -1 : 1));
  for (const item of free) highestFor(item, replicas, part).held.push(item);
  for (const replica of replicas) if (replica.held.length < part.least) fillUp(replica, replicas, part.least);
  return new Map(replicas.flatMap(({ name, held }) => held.map(({ upstream }) => [upstream, name] as const)));
}

type Item = { readonly upstream: string; readonly hash: number };

type Replica = { readonly name: string; readonly hash: number; held: Item[] };

function newReplica(name: string): Replica {
  return { name, hash: hash32(name), held: [] };
}

function mixedHash(replica: Replica, item: Item): number {
  let mixed = Math.imul(item.hash ^ Math.imul(replica.hash, 0x9e3779b1), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Highest first. Names decide between equal hashes, so that all replicas agree. */
function byHash(replica: Replica): (a: Item, b: Item) => number {
  return (a, b) => mixedHash(replica, b) - mixedHash(replica, a) || (a.upstream < b.upstream ? -1 : 1);
}

function shedBeyond(replica: Replica, most: number): readonly Item[] {
  if (replica.held.length <= most) return [];
  replica.held.sort(byHash(replica));
  return replica.held.splice(most);
}

function highestFor(item: Item, replicas: readonly Replica[], { least, most }: Part): Replica {
  let best: Replica | undefined;
  let bestRank = -1;
  for (const replica of replicas) {
    const count = replica.held.length;
    if (count >= most) continue;
    // Replicas that have too few come first.
    const rank = mixedHash(replica, item) + (count < least ? 2 ** 32 : 0);
    if (rank <= bestRank) continue;
    best = replica;
    bestRank = rank;
  }
  if (best === undefined) throw new Error("cannot assign an upstream: all replicas have their most");
  return best;
}

/** Takes the upstreams with its highest hashes from what others can spare. */
function fillUp(poor: Replica, replicas: readonly Replica[], least: number): void {
  const spare = new Map(replicas.map((replica) => [replica, Math.max(0, replica.held.length - least)]));
  const offered = replicas.flatMap((replica) =>
    (spare.get(replica) ?? 0) > 0 ? replica.held.map((item) => ({ item, replica })) : [],
  );
  const order = byHash(poor);
  offered.sort((a, b) => order(a.item, b.item));
  const taken = new Set<Item>();
  for (const { item, replica } of offered) {
    if (poor.held.length >= least) break;
    const left = spare.get(replica) ?? 0;
    if (left === 0) continue;
    spare.set(replica, left - 1);
    taken.add(item);
    poor.held.push(item);
  }
  for (const replica of replicas) {
    if (replica !== poor) replica.held = replica.held.filter((item) => !taken.has(item));
  }
}
