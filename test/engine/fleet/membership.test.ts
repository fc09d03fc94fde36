import { expect, test } from "vitest";
import { partOf } from "../../../src/core/fleet/rendezvous.ts";
import { SmallReplica, TableServer, upstreamNames } from "../../support/fleet-world.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const SECOND_MS = 1_000;
const TTL_MS = 10 * SECOND_MS;

type World = {
  readonly clock: VirtualClock;
  readonly server: TableServer;
  readonly replicas: SmallReplica[];
  readonly upstreams: readonly string[];
  add(name: string): SmallReplica;
  /** Lets time pass, and looks at every step that nobody polls what another one does. */
  pass(ms: number): Promise<void>;
  polledBy(): ReadonlyMap<string, string>;
  /** The longest time that any upstream was polled by nobody, since the world was last asked. */
  longestSilenceMs(): number;
};

const STEP_MS = 100;

function newWorld(upstreams: readonly string[], names: readonly string[]): World {
  const clock = new VirtualClock();
  const server = new TableServer(clock);
  const replicas: SmallReplica[] = [];
  const polledBy = (): ReadonlyMap<string, string> => {
    const holders = new Map<string, string>();
    for (const replica of replicas) {
      for (const upstream of replica.polled) {
        // Not an expect: it is looked at a million times.
        if (holders.has(upstream)) throw new Error(`${upstream} is polled twice`);
        holders.set(upstream, replica.name);
      }
    }
    return holders;
  };
  const silentMs = new Map<string, number>();
  let longestMs = 0;
  const world: World = {
    clock,
    server,
    replicas,
    upstreams,
    polledBy,
    add(name) {
      const replica = new SmallReplica(clock, (isCutOff) => server.boardFor(isCutOff), {
        name,
        boot: String(clock.now()),
      });
      replica.membership.setUpstreams(upstreams);
      replica.membership.start();
      replicas.push(replica);
      return replica;
    },
    async pass(ms) {
      for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
        await clock.advance(STEP_MS);
        const polled = polledBy();
        for (const upstream of upstreams) {
          const silence = polled.has(upstream) ? 0 : (silentMs.get(upstream) ?? 0) + STEP_MS;
          silentMs.set(upstream, silence);
          longestMs = Math.max(longestMs, silence);
        }
      }
    },
    longestSilenceMs() {
      const longest = longestMs;
      longestMs = 0;
      silentMs.clear();
      return longest;
    },
  };
  for (const name of names) world.add(name);
  return world;
}

function expectAllHeld(world: World, living: readonly SmallReplica[]): void {
  const holders = world.polledBy();
  expect(holders.size).toBe(world.upstreams.length);
  const { least, most } = partOf(world.upstreams.length, living.length);
  for (const replica of living) {
    expect(replica.polled.size).toBeGreaterThanOrEqual(least);
    expect(replica.polled.size).toBeLessThanOrEqual(most);
    expect(replica.membership.heldCount).toBe(replica.polled.size);
  }
}

/** Dead to the others and to itself: it polls no more, and never comes back. */
function kill(replica: SmallReplica): void {
  replica.isCutOff = true;
  replica.polled.clear();
}

test("a new fleet waits until no former one can hold anything, then shares all upstreams evenly", async () => {
  const world = newWorld(upstreamNames(100), ["a", "b", "c"]);
  await world.pass(TTL_MS - 200);
  expect(world.polledBy().size).toBe(0);
  await world.pass(1_000);
  expectAllHeld(world, world.replicas);
});

test("five thousand upstreams are shared anew within 15 s of a death, and only those of the dead one move", async () => {
  const world = newWorld(upstreamNames(5_000), ["a", "b", "c"]);
  await world.pass(2 * TTL_MS);
  const [dead, ...living] = world.replicas;
  if (dead === undefined) throw new Error("no replica");
  const before = world.polledBy();
  expect(before.size).toBe(5_000);
  const orphans = new Set(dead.polled);
  kill(dead);
  await world.pass(15 * SECOND_MS - 100);
  expectAllHeld(world, living);
  const stayed = [...world.polledBy()].filter(([upstream]) => !orphans.has(upstream));
  for (const [upstream, holder] of stayed) expect(holder).toBe(before.get(upstream));
});

test("how long nobody held it is told with each upstream that is taken over", async () => {
  const world = newWorld(upstreamNames(30), ["a", "b"]);
  await world.pass(2 * TTL_MS);
  const [dead, heir] = world.replicas;
  if (dead === undefined || heir === undefined) throw new Error("no replica");
  expect(heir.gains.every(({ unheldMs }) => unheldMs === undefined)).toBe(true);
  heir.gains.length = 0;
  kill(dead);
  await world.pass(15 * SECOND_MS);
  expect(heir.gains).toHaveLength(15);
  for (const { unheldMs } of heir.gains) {
    expect(unheldMs).toBeGreaterThanOrEqual(TTL_MS);
    expect(unheldMs).toBeLessThan(TTL_MS * 1.25);
  }
});

test("whoever leaves in order is replaced within a beat", async () => {
  const world = newWorld(upstreamNames(60), ["a", "b", "c"]);
  await world.pass(2 * TTL_MS);
  const [leaving, ...staying] = world.replicas;
  if (leaving === undefined) throw new Error("no replica");
  leaving.membership.leave();
  await world.pass(3 * SECOND_MS);
  expect(leaving.polled.size).toBe(20);
  leaving.polled.clear();
  const closing = leaving.membership.close();
  await world.pass(TTL_MS / 5 + 200);
  await closing;
  expectAllHeld(world, staying);
});

test("a newcomer is handed its part after its trial, when polls on their way have ended, and the others keep theirs", async () => {
  const world = newWorld(upstreamNames(90), ["a", "b"]);
  await world.pass(2 * TTL_MS);
  for (const replica of world.replicas) replica.drainTakesMs = 3_000;
  const before = world.polledBy();
  const newcomer = world.add("c");
  await world.pass(TTL_MS - SECOND_MS);
  expect(newcomer.polled.size).toBe(0);
  await world.pass(TTL_MS);
  expectAllHeld(world, world.replicas);
  const stayed = [...world.polledBy()].filter(([, holder]) => holder !== newcomer.name);
  for (const [upstream, holder] of stayed) expect(holder).toBe(before.get(upstream));
  await world.pass(TTL_MS);
  const moves = world.replicas.reduce((sum, { membership }) => sum + membership.moves.lost, 0);
  expect(moves).toBe(newcomer.polled.size);
});

test("one that is cut off lets go before anybody else may take, and takes again when it is back", async () => {
  const world = newWorld(upstreamNames(40), ["a", "b"]);
  await world.pass(2 * TTL_MS);
  const [lonely, other] = world.replicas;
  if (lonely === undefined || other === undefined) throw new Error("no replica");
  lonely.isCutOff = true;
  await world.pass(TTL_MS * 0.5);
  expect(lonely.polled.size).toBe(20);
  expect(other.polled.size).toBe(20);
  await world.pass(TTL_MS * 0.31);
  expect(lonely.polled.size).toBe(0);
  expect(lonely.holdings.isSessionValid).toBe(false);
  await world.pass(5 * SECOND_MS);
  expectAllHeld(world, [other]);
  lonely.isCutOff = false;
  await world.pass(3 * TTL_MS);
  expectAllHeld(world, world.replicas);
});

test("a process that stood still holds nothing from the moment it goes on", async () => {
  const world = newWorld(upstreamNames(10), ["a"]);
  await world.pass(2 * TTL_MS);
  const [replica] = world.replicas;
  if (replica === undefined) throw new Error("no replica");
  expect(world.upstreams.every((upstream) => replica.holdings.has(upstream))).toBe(true);
  world.clock.stall(TTL_MS);
  expect(world.upstreams.some((upstream) => replica.holdings.has(upstream))).toBe(false);
  await world.pass(3 * SECOND_MS);
  expectAllHeld(world, [replica]);
});

test("when the board is away for longer than a session, all stop; when it is back, all go on", async () => {
  const world = newWorld(upstreamNames(40), ["a", "b"]);
  await world.pass(2 * TTL_MS);
  world.server.isAway = true;
  await world.pass(TTL_MS);
  expect(world.polledBy().size).toBe(0);
  world.server.isAway = false;
  await world.pass(5 * SECOND_MS);
  expectAllHeld(world, world.replicas);
});

for (const [accident, happen] of [
  ["emptied", (server: TableServer) => server.empty()],
  ["restarted", (server: TableServer) => server.restart()],
  ["stepped forward by an hour", (server: TableServer) => server.step(3_600_000)],
  ["set back by an hour", (server: TableServer) => server.step(-3_600_000)],
] as const) {
  test(`a board that is ${accident} moves nothing, and no poll is missed`, async () => {
    const world = newWorld(upstreamNames(300), ["a", "b", "c"]);
    await world.pass(2 * TTL_MS);
    const before = world.polledBy();
    happen(world.server);
    for (let passedMs = 0; passedMs < 3 * TTL_MS; passedMs += 500) {
      await world.pass(500);
      expect(world.polledBy()).toEqual(before);
    }
  });
}

test("a death just before the board is emptied is found out after one session's time", async () => {
  const world = newWorld(upstreamNames(40), ["a", "b"]);
  await world.pass(2 * TTL_MS);
  const [dead, heir] = world.replicas;
  if (dead === undefined || heir === undefined) throw new Error("no replica");
  kill(dead);
  world.server.empty();
  await world.pass(TTL_MS);
  expect(heir.polled.size).toBe(20);
  await world.pass(3 * SECOND_MS);
  expectAllHeld(world, [heir]);
});

test("a replica that comes back after a crash is given its part once it has lived a while, and nothing else moves", async () => {
  const world = newWorld(upstreamNames(60), ["a", "b", "c"]);
  await world.pass(2 * TTL_MS);
  const [dead] = world.replicas;
  if (dead === undefined) throw new Error("no replica");
  const before = world.polledBy();
  kill(dead);
  await world.pass(SECOND_MS);
  const born = world.add("a");
  await world.pass(1.5 * TTL_MS);
  expect(born.polled.size).toBe(0);
  expect(world.polledBy().size).toBe(60);
  await world.pass(TTL_MS);
  expectAllHeld(
    world,
    world.replicas.filter((replica) => replica !== dead),
  );
  const moved = [...world.polledBy()].filter(([upstream, holder]) => before.get(upstream) !== holder);
  expect(moved.filter(([upstream, holder]) => holder !== "a" && before.get(upstream) !== "a")).toEqual([]);
});

/** In order: after its last poll it gives back what it holds. */
async function stop(world: World, replica: SmallReplica): Promise<void> {
  replica.membership.leave();
  await world.pass(STEP_MS);
  replica.polled.clear();
  const closing = replica.membership.close();
  await world.pass(STEP_MS);
  await closing;
  world.replicas.splice(world.replicas.indexOf(replica), 1);
}

for (const [lives, lifeMs, restsMs] of [
  ["four seconds", 4 * SECOND_MS, SECOND_MS],
  ["four seconds, with a longer pause after each,", 4 * SECOND_MS, 7 * SECOND_MS],
  ["a little longer than a session", TTL_MS + 2 * SECOND_MS, 500],
  ["three sessions", 3 * TTL_MS, 3 * SECOND_MS],
] as const) {
  test(`one that crashes again and again, and lives for ${lives} leaves no upstream unpolled for 15 s`, async () => {
    const world = newWorld(upstreamNames(6), ["a", "b", "c"]);
    await world.pass(2 * TTL_MS);
    world.longestSilenceMs();
    const [, , first] = world.replicas;
    if (first === undefined) throw new Error("no replica");
    let looping = first;
    const liveAgain = async (): Promise<void> => {
      kill(looping);
      await world.pass(restsMs);
      looping = world.add("c");
      await world.pass(lifeMs);
    };
    for (let life = 0; life < 20; life += 1) await liveAgain();
    expect(world.longestSilenceMs()).toBeLessThan(15 * SECOND_MS);
    // Nobody waits for it any more: its deaths cost nothing.
    for (let life = 0; life < 3; life += 1) await liveAgain();
    expect(world.longestSilenceMs()).toBe(0);
    // It has its part as soon as it lives on.
    await world.pass(40 * TTL_MS);
    expect(looping.polled.size).toBe(2);
    expect(world.longestSilenceMs()).toBeLessThan(TTL_MS / 5 + SECOND_MS);
  });
}

test("a fleet that is restarted all at once, and in order, goes on within a beat", async () => {
  const world = newWorld(upstreamNames(30), ["a", "b", "c"]);
  await world.pass(2 * TTL_MS);
  for (const replica of world.replicas.slice()) await stop(world, replica);
  world.longestSilenceMs();
  for (const name of ["a", "b", "c"]) {
    world.add(name);
    await world.pass(STEP_MS);
  }
  await world.pass(TTL_MS / 2);
  expectAllHeld(world, world.replicas);
  expect(world.longestSilenceMs()).toBeLessThan(TTL_MS / 5 + SECOND_MS);
});

test("a fleet that is killed all at once, and started again, waits for the old sessions to end and no longer", async () => {
  const world = newWorld(upstreamNames(30), ["a", "b", "c"]);
  await world.pass(2 * TTL_MS);
  world.longestSilenceMs();
  const dead = [...world.replicas];
  for (const replica of dead) kill(replica);
  await world.pass(2 * SECOND_MS);
  for (const name of ["a", "b", "c"]) {
    world.add(name);
    await world.pass(300);
  }
  await world.pass(1.5 * TTL_MS);
  expectAllHeld(
    world,
    world.replicas.filter((replica) => !dead.includes(replica)),
  );
  expect(world.longestSilenceMs()).toBeLessThan(TTL_MS + SECOND_MS);
});

test("the only replica, restarted, goes on at once", async () => {
  const world = newWorld(upstreamNames(30), ["a"]);
  await world.pass(2 * TTL_MS);
  const [only] = world.replicas;
  if (only === undefined) throw new Error("no replica");
  await stop(world, only);
  world.add("a");
  await world.pass(SECOND_MS);
  expect(world.polledBy().size).toBe(30);
});

test("a replica says once that it is on trial, and nothing where it goes on at once", async () => {
  const world = newWorld(upstreamNames(30), ["a", "b"]);
  await world.pass(2 * TTL_MS);
  const newcomer = world.add("c");
  await world.pass(2 * TTL_MS);
  expect(newcomer.logged).toEqual(["joined the fleet on trial: takes no upstreams until the trial ends"]);
  for (const first of world.replicas.slice(0, 2)) expect(first.logged).toEqual([]);
});

for (const betweenMs of [SECOND_MS, 4 * SECOND_MS, 15 * SECOND_MS]) {
  test(`a rolling restart with ${betweenMs / SECOND_MS} s from one to the next leaves no upstream unpolled for longer than a beat`, async () => {
    const world = newWorld(upstreamNames(30), ["a", "b", "c"]);
    await world.pass(2 * TTL_MS);
    world.longestSilenceMs();
    for (const replica of world.replicas.slice()) {
      await stop(world, replica);
      await world.pass(SECOND_MS);
      world.add(replica.name);
      await world.pass(betweenMs);
    }
    await world.pass(2 * TTL_MS);
    expectAllHeld(world, world.replicas);
    expect(world.longestSilenceMs()).toBeLessThan(TTL_MS / 5 + SECOND_MS);
  });
}

test("a state that stays the same is published again before the board forgets it", async () => {
  const world = newWorld(upstreamNames(1), []);
  const published: string[] = [];
  const board = world.server.boardFor(() => false);
  const replica = new SmallReplica(
    world.clock,
    () => ({
      ...board,
      publish: async (entries) => {
        published.push(...entries.keys());
        return true;
      },
    }),
    { name: "a", ttlMs: 3_600_000, statuses: () => new Map([["upstream-0", "up"]]) },
  );
  replica.membership.start();
  await world.clock.advance(3_600_000);
  expect(published).toEqual(["upstream-0"]);
  for (let hour = 0; hour < 24; hour += 1) await world.clock.advance(3_600_000);
  expect(published.length).toBeGreaterThan(1);
  expect(published.length).toBeLessThan(6);
});

test("upstreams that only some know of are held by one of those", async () => {
  const world = newWorld(upstreamNames(40), ["a", "b"]);
  await world.pass(2 * TTL_MS);
  const [first, second] = world.replicas;
  if (first === undefined || second === undefined) throw new Error("no replica");
  first.membership.setUpstreams([...world.upstreams, "new-1", "new-2"]);
  await world.pass(5 * SECOND_MS);
  expect([...first.polled]).toEqual(expect.arrayContaining(["new-1", "new-2"]));
  expect(world.polledBy().size).toBe(42);
  second.membership.setUpstreams([...world.upstreams, "new-1", "new-2"]);
  await world.pass(TTL_MS);
  expect(world.polledBy().size).toBe(42);
});

test("what leaves the config is let go of", async () => {
  const world = newWorld(upstreamNames(40), ["a", "b"]);
  await world.pass(2 * TTL_MS);
  for (const { membership } of world.replicas) membership.setUpstreams(world.upstreams.slice(0, 10));
  await world.pass(5 * SECOND_MS);
  expect(world.polledBy().size).toBe(10);
});

test("the time in which an upstream was not in the config counts as missed by nobody", async () => {
  const world = newWorld(upstreamNames(10), ["a", "b"]);
  await world.pass(2 * TTL_MS);
  const configure = (upstreams: readonly string[]): void => {
    for (const { membership } of world.replicas) membership.setUpstreams(upstreams);
  };
  configure(world.upstreams.slice(0, 5));
  await world.pass(600 * SECOND_MS);
  for (const { gains } of world.replicas) gains.length = 0;
  configure(world.upstreams);
  await world.pass(2 * TTL_MS);
  const gains = world.replicas.flatMap((replica) => replica.gains);
  expect(gains.map(({ upstream }) => upstream)).toEqual(expect.arrayContaining(world.upstreams.slice(5)));
  for (const { unheldMs } of gains) expect(unheldMs).toBeLessThan(TTL_MS);
});

test("one that broke while it let go lets go at once the next time its session ends", async () => {
  const clock = new VirtualClock();
  const server = new TableServer(clock);
  const bugs: unknown[] = [];
  const replica = new SmallReplica(clock, (isCutOff) => server.boardFor(isCutOff), {
    name: "a",
    onBug: (error) => bugs.push(error),
  });
  replica.membership.setUpstreams(upstreamNames(5));
  let isBroken = true;
  const lose = replica.polled.delete.bind(replica.polled);
  replica.polled.delete = (upstream) => {
    if (isBroken) throw new Error("broken");
    return lose(upstream);
  };
  replica.membership.start();
  await clock.advance(2 * TTL_MS);
  expect(replica.polled.size).toBe(5);
  replica.isCutOff = true;
  await clock.advance(TTL_MS);
  expect(bugs).toHaveLength(1);
  isBroken = false;
  replica.isCutOff = false;
  await clock.advance(2 * TTL_MS);
  expect(replica.membership.heldCount).toBe(5);
  replica.isCutOff = true;
  while (replica.holdings.isSessionValid) await clock.advance(10);
  expect(replica.polled.size).toBe(0);
});

test("a suspended machine holds nothing from the moment it goes on, and joins again", async () => {
  const world = newWorld(upstreamNames(10), ["a"]);
  await world.pass(2 * TTL_MS);
  const [replica] = world.replicas;
  if (replica === undefined) throw new Error("no replica");
  expect(world.upstreams.every((upstream) => replica.holdings.has(upstream))).toBe(true);
  // All that a process sees of it: the board has gone on as well.
  world.clock.stepWall(600_000);
  world.server.step(600_000);
  expect(world.upstreams.some((upstream) => replica.holdings.has(upstream))).toBe(false);
  await world.pass(3 * TTL_MS);
  expectAllHeld(world, [replica]);
});
