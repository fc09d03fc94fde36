/**
 * Who should hold what. Every replica works it out for itself from the same facts, and all come to the same answer:
 * an upstream goes to whoever draws the highest number for it, and moves on only when it must.
 */

import { hash32 } from "../schedule/hash.ts";

/** How far from an even part a replica may be before anything moves for the sake of balance. */
const TOLERANCE = 0.09;

export type Part = { readonly least: number; readonly most: number };

/** What a replica's part may be: within 9 % of an even one, or the whole numbers around it where that is less than one. */
export function partOf(upstreams: number, replicas: number): Part {
  const even = upstreams / replicas;
  return {
    least: Math.min(Math.floor(even), Math.ceil(even * (1 - TOLERANCE))),
    most: Math.max(Math.ceil(even), Math.floor(even * (1 + TOLERANCE))),
  };
}

export type Assignment = ReadonlyMap<string, string>;

/**
 * What stays where it is: everything, but for the part by which a holder is over `most`. What is free goes first to
 * those that have too little. What they lack then is taken from those that can spare it. Carried out in any order and
 * in any pieces, it comes to rest: nothing that was handed over is due back.
 */
export function assign(
  upstreams: readonly string[],
  replicas: readonly string[],
  holderOf: (upstream: string) => string | undefined,
): Assignment {
  const draws = replicas.toSorted().map((name) => newDraw(name));
  if (draws.length === 0) return new Map();
  const part = partOf(upstreams.length, draws.length);
  const byName = new Map(draws.map((draw) => [draw.name, draw]));
  const free: Ticket[] = [];
  for (const upstream of upstreams.toSorted()) {
    const ticket = { upstream, hash: hash32(upstream) };
    const holder = byName.get(holderOf(upstream) ?? "");
    if (holder === undefined) free.push(ticket);
    else holder.held.push(ticket);
  }
  for (const draw of draws) free.push(...shedBeyond(draw, part.most));
  free.sort((a, b) => (a.upstream < b.upstream ? -1 : 1));
  for (const ticket of free) highestFor(ticket, draws, part).held.push(ticket);
  for (const draw of draws) if (draw.held.length < part.least) fillUp(draw, draws, part.least);
  return new Map(draws.flatMap(({ name, held }) => held.map(({ upstream }) => [upstream, name] as const)));
}

type Ticket = { readonly upstream: string; readonly hash: number };

type Draw = { readonly name: string; readonly hash: number; held: Ticket[] };

function newDraw(name: string): Draw {
  return { name, hash: hash32(name), held: [] };
}

/** What two hashes draw together. */
function drawn(draw: Draw, ticket: Ticket): number {
  let mixed = Math.imul(ticket.hash ^ Math.imul(draw.hash, 0x9e3779b1), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** The names decide between equal numbers, so that all decide alike. */
function byDraw(draw: Draw): (a: Ticket, b: Ticket) => number {
  return (a, b) => drawn(draw, b) - drawn(draw, a) || (a.upstream < b.upstream ? -1 : 1);
}

function shedBeyond(draw: Draw, most: number): readonly Ticket[] {
  if (draw.held.length <= most) return [];
  draw.held.sort(byDraw(draw));
  return draw.held.splice(most);
}

function highestFor(ticket: Ticket, draws: readonly Draw[], { least, most }: Part): Draw {
  let best: Draw | undefined;
  let bestNumber = -1;
  for (const draw of draws) {
    const count = draw.held.length;
    if (count >= most) continue;
    // Whoever has too little comes before all others.
    const number = drawn(draw, ticket) + (count < least ? 2 ** 32 : 0);
    if (number <= bestNumber) continue;
    best = draw;
    bestNumber = number;
  }
  if (best === undefined) throw new Error("cannot assign an upstream: all replicas have their most");
  return best;
}

/** Takes the highest that it draws of what others can spare. */
function fillUp(poor: Draw, draws: readonly Draw[], least: number): void {
  const spare = new Map(draws.map((draw) => [draw, Math.max(0, draw.held.length - least)]));
  const offered = draws.flatMap((draw) =>
    (spare.get(draw) ?? 0) > 0 ? draw.held.map((ticket) => ({ ticket, draw })) : [],
  );
  const order = byDraw(poor);
  offered.sort((a, b) => order(a.ticket, b.ticket));
  const taken = new Set<Ticket>();
  for (const { ticket, draw } of offered) {
    if (poor.held.length >= least) break;
    const left = spare.get(draw) ?? 0;
    if (left === 0) continue;
    spare.set(draw, left - 1);
    taken.add(ticket);
    poor.held.push(ticket);
  }
  for (const draw of draws) {
    if (draw !== poor) draw.held = draw.held.filter((ticket) => !taken.has(ticket));
  }
}
