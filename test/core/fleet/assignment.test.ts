import * as fc from "fast-check";
import { expect, test } from "vitest";
import { assign as assignLoads, type Assignment } from "../../../src/core/fleet/assignment.ts";

const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** All as large as each other. */
function assign(
  groups: readonly string[],
  replicas: readonly string[],
  holderOf: (group: string) => string | undefined,
): Assignment {
  return assignLoads(
    groups.map((id) => ({ id, pollsPerSecond: 0.1 })),
    replicas,
    holderOf,
  );
}

/** Within 9 % of even, or the whole numbers around it if 9 % is less than one. */
function partOf(groups: number, replicas: number): { readonly least: number; readonly most: number } {
  const even = groups / replicas;
  return {
    least: Math.min(Math.floor(even), Math.ceil(even * 0.91)),
    most: Math.max(Math.ceil(even), Math.floor(even * 1.09)),
  };
}

function countsOf(assignment: Assignment, replicas: readonly string[]): number[] {
  const counts = new Map(replicas.map((name) => [name, 0]));
  for (const holder of assignment.values()) counts.set(holder, (counts.get(holder) ?? 0) + 1);
  return [...counts.values()];
}

function movesBetween(before: Assignment, after: Assignment): readonly string[] {
  return [...after].flatMap(([upstream, holder]) => {
    const former = before.get(upstream);
    return former === undefined || former === holder ? [] : [upstream];
  });
}

const nobody = (): undefined => undefined;

const worlds = fc.record({
  upstreams: fc.integer({ min: 0, max: 120 }).map((count) => names("upstream", count)),
  replicas: fc.integer({ min: 1, max: 9 }).map((count) => names("replica", count)),
  /** By upstream: which replica holds it; beyond the living ones, nobody or a dead one. */
  holders: fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 120, maxLength: 120 }),
});

type World = { upstreams: string[]; replicas: string[]; holders: number[] };

function holdersOf({ upstreams, holders }: World): Map<string, string> {
  return new Map(upstreams.map((name, index) => [name, `replica-${holders[index]}`]));
}

test("every upstream is due to exactly one living replica, and every part is within its bounds", () => {
  fc.assert(
    fc.property(worlds, (world) => {
      const holders = holdersOf(world);
      const assignment = assign(world.upstreams, world.replicas, (name) => holders.get(name));
      expect([...assignment.keys()].sort()).toEqual([...world.upstreams].sort());
      const { least, most } = partOf(world.upstreams.length, world.replicas.length);
      for (const count of countsOf(assignment, world.replicas)) {
        expect(count).toBeGreaterThanOrEqual(least);
        expect(count).toBeLessThanOrEqual(most);
      }
    }),
  );
});

test("whoever works it out, in whatever order the facts came, comes to the same", () => {
  fc.assert(
    fc.property(worlds, (world) => {
      const holders = holdersOf(world);
      const holderOf = (name: string): string | undefined => holders.get(name);
      const there = assign(world.upstreams, world.replicas, holderOf);
      const here = assign(world.upstreams.toReversed(), world.replicas.toReversed(), holderOf);
      expect(new Map(here)).toEqual(new Map(there));
    }),
  );
});

test("what is due stays due while it is carried out in any order and in any pieces, and then nothing moves", () => {
  fc.assert(
    fc.property(worlds, fc.infiniteStream(fc.boolean()), (world, coins) => {
      const holders = holdersOf(world);
      const alive = new Set(world.replicas);
      const moved = new Map<string, number>();
      for (let round = 0; round < 40; round += 1) {
        const due = assign(world.upstreams, world.replicas, (name) => holders.get(name));
        for (const [upstream, target] of due) {
          const holder = holders.get(upstream);
          const isFree = holder === undefined || !alive.has(holder);
          if (holder === target || coins.next().value === true) continue;
          // First let go, then claimed: never both at once.
          if (isFree) holders.set(upstream, target);
          else {
            holders.delete(upstream);
            moved.set(upstream, (moved.get(upstream) ?? 0) + 1);
          }
        }
      }
      const rest = assign(world.upstreams, world.replicas, (name) => holders.get(name));
      for (const [upstream, target] of rest) expect(holders.get(upstream)).toBe(target);
      // What is free for a moment may be given to another one than was meant first.
      expect([...moved.values()].filter((times) => times > 2)).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

test("a death moves nothing but what the dead one held, and that in equal parts", () => {
  const upstreams = names("upstream", 5_000);
  for (const count of [2, 3, 5, 10]) {
    const replicas = names("replica", count);
    const before = assign(upstreams, replicas, nobody);
    const survivors = replicas.slice(1);
    const after = assign(upstreams, survivors, (name) => before.get(name));
    const moved = movesBetween(before, after);
    expect(moved.every((upstream) => before.get(upstream) === "replica-0")).toBe(true);
    const counts = countsOf(after, survivors);
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThanOrEqual(1.2);
  }
});

test("a newcomer is given its part, and among the others nothing moves", () => {
  const upstreams = names("upstream", 5_000);
  const before = assign(upstreams, names("replica", 3), nobody);
  const after = assign(upstreams, names("replica", 4), (name) => before.get(name));
  const moved = movesBetween(before, after);
  expect(moved.every((upstream) => after.get(upstream) === "replica-3")).toBe(true);
  expect(moved.length).toBe(partOf(5_000, 4).least);
});

test("what is asked for is divided evenly, not the number of groups", () => {
  const load = fc.constantFrom(0.001, 0.1, 0.25, 1, 4);
  fc.assert(
    fc.property(fc.array(load, { maxLength: 60 }), fc.integer({ min: 1, max: 7 }), (loads, count) => {
      const groups = loads.map((pollsPerSecond, index) => ({ id: `group-${index}`, pollsPerSecond }));
      const replicas = names("replica", count);
      const assignment = assignLoads(groups, replicas, nobody);
      const loadOf = (name: string): number =>
        groups.reduce(
          (sum, { id, pollsPerSecond }) => sum + (assignment.get(id) === name ? pollsPerSecond : 0),
          0,
        );
      const all = replicas.map(loadOf);
      const [most, least] = [Math.max(...all), Math.min(...all)];
      const largest = Math.max(0, ...loads);
      expect(most - least).toBeLessThanOrEqual(
        Math.max(largest, (0.2 * all.reduce((a, b) => a + b, 0)) / count) + 1e-6,
      );
    }),
  );
});

test("a group that asks for more than all others together stays where it is", () => {
  const groups = [10, 1, 1, 1].map((pollsPerSecond, index) => ({ id: `g${index}`, pollsPerSecond }));
  const held = new Map([
    ["g0", "a"],
    ["g1", "b"],
    ["g2", "b"],
    ["g3", "b"],
  ]);
  expect(new Map(assignLoads(groups, ["a", "b"], (id) => held.get(id)))).toEqual(held);
});

test("of all that the fullest has, that goes to the emptiest which makes them most alike", () => {
  const loads = [1, 3, 4].map((pollsPerSecond, index) => ({ id: `g${index}`, pollsPerSecond }));
  const given = new Map(assignLoads(loads, ["a", "b"], () => "a"));
  expect(Object.fromEntries(given)).toEqual({ g0: "a", g1: "a", g2: "b" });
});

test("of equals, the first by name gives and is given, so that replicas of any version come to the same", () => {
  const held = new Map([
    ["g0", "a"],
    ["g1", "a"],
    ["g2", "b"],
    ["g3", "b"],
  ]);
  const holders = [...assign([...held.keys()], ["c", "b", "a"], (id) => held.get(id))];
  expect(holders.filter(([id, holder]) => held.get(id) !== holder)).toEqual([["g0", "c"]]);
  expect(assign(["g0"], ["c", "b", "a"], nobody).get("g0")).toBe("a");
});

test("with fewer upstreams than replicas nobody has two", () => {
  const counts = countsOf(assign(names("upstream", 3), names("replica", 7), nobody), names("replica", 7));
  expect(counts.toSorted((a, b) => a - b)).toEqual([0, 0, 0, 0, 1, 1, 1]);
});

test("a death, and a newcomer, among 5,000 groups look at each a few times, not at all for each", () => {
  const groups = names("group", 5_000);
  let looks = 0;
  const loads = groups.map((id) => ({
    id,
    get pollsPerSecond() {
      looks += 1;
      return 0.1;
    },
  }));
  const replicas = names("replica", 10);
  const before = assignLoads(loads, replicas, nobody);
  const steps = [replicas.slice(1), [...replicas, "replica-new"]];
  for (const living of steps) {
    looks = 0;
    const after = assignLoads(loads, living, (group) => before.get(group));
    expect(Math.min(...countsOf(after, living))).toBeGreaterThan(400);
    // Each move looks once at all that the fullest one holds: some 450 moves of some 500.
    expect(looks).toBeLessThan(3_000_000);
  }
});

test("nothing is due to anybody where nobody lives", () => {
  expect(assign(names("upstream", 3), [], nobody).size).toBe(0);
});
