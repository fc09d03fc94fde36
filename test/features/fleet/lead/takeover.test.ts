import { expect, test } from "vitest";
import { budgets, LockWorld, type Process } from "../../../support/lead/world.ts";
import { worlds } from "../../../support/many.ts";

const TTL_MS = 10_000;
const SEEDS = Array.from({ length: worlds(2) }, (_, seed) => seed);

/** Where it polls again as soon as somebody leads. */
const PACED = [budgets("a", 60)];

/** Three processes, of which one leads and polls. */
async function steady(seed: number, configs = PACED, names = ["a", "b", "c"]): Promise<LockWorld> {
  const world = new LockWorld({ seed, ttlMs: TTL_MS, configs });
  for (const name of names) world.clock.after(world.between(0, 2_000), () => world.spawn(name));
  await world.run(40_000 + world.between(0, 5_000));
  world.judge.mark();
  return world;
}

function leaderOf({ leader }: LockWorld): Process {
  if (leader === undefined) throw new Error("nobody leads");
  return leader;
}

/** The longest time in which nobody polled "paced", of all these worlds. */
async function longestSilence(
  act: (world: LockWorld, leader: Process) => void,
  options: { readonly configs?: typeof PACED; readonly forMs?: number; readonly budget?: string } = {},
): Promise<number> {
  let longestMs = 0;
  for (const seed of SEEDS) {
    const world = await steady(seed, options.configs);
    act(world, leaderOf(world));
    await world.run(options.forMs ?? 60_000);
    expect(world.judge.wrongs, `seed ${seed}`).toEqual([]);
    longestMs = Math.max(longestMs, world.judge.silentMs.get(options.budget ?? "paced") ?? Infinity);
  }
  return longestMs;
}

test("when the leader dies, another one polls within one and a half ttl", async () => {
  const silentMs = await longestSilence((_, leader) => leader.kill());
  expect(silentMs).toBeLessThan(1.5 * TTL_MS);
  expect(silentMs).toBeGreaterThan(0.8 * TTL_MS);
});

test("when the leader is stopped, another one polls within a second", async () => {
  expect(await longestSilence((_, leader) => leader.stop(0))).toBeLessThan(1_000);
});

test("what was sent before an orderly stop still counts for the next one", async () => {
  const configs = [budgets("a", 15_000)];
  const silentMs = await longestSilence((_, leader) => leader.stop(0), { configs, budget: "whole" });
  expect(silentMs).toBeGreaterThan(15_000 * 0.9);
  expect(silentMs).toBeLessThan(15_000 * 1.2 + 1_000);
});

test("a lock that is emptied or set back at once is written again, without silence", async () => {
  for (const act of [
    (world: LockWorld): void => world.emptied(),
    (world: LockWorld): void => world.setBack(1, 0),
    (world: LockWorld): void => world.setBack(7, 0),
  ]) {
    expect(await longestSilence(act)).toBeLessThan(500);
  }
});

test("a lock that is away for less than the right lasts is not noticed", async () => {
  expect(await longestSilence((world) => world.outage(3_000, false))).toBeLessThan(500);
});

test("a leader that is stopped while the lock is away ends with its right, and waits for nothing more", async () => {
  for (const seed of SEEDS) {
    const outage = async (): Promise<[LockWorld, Process]> => {
      const world = new LockWorld({ seed, ttlMs: TTL_MS, isDrifting: false, configs: PACED });
      world.spawn("a");
      await world.run(30_000);
      world.outage(60_000, false);
      return [world, leaderOf(world)];
    };
    const [known, before] = await outage();
    let leadsForMs = 0;
    for (; before.reign !== undefined; leadsForMs += 50) await known.run(50);
    const [world, leader] = await outage();
    await world.run(leadsForMs - 200);
    leader.stop(0);
    await world.run(500);
    expect(leader.isAlive, `seed ${seed}`).toBe(false);
  }
});

test("after a lock that was away for longer, it polls within two and a half ttl", async () => {
  const awayMs = 30_000;
  for (const isRestart of [false, true]) {
    const silentMs = await longestSilence((world) => world.outage(awayMs, isRestart), { forMs: 90_000 });
    expect(silentMs).toBeLessThan(awayMs + 1.5 * TTL_MS);
  }
});

test("a leader that is stopped as by SIGSTOP, or with its machine, sends nothing when it goes on", async () => {
  for (const isSuspended of [false, true]) {
    for (const ms of [5_000, 9_000, 15_000, 60_000]) {
      const silentMs = await longestSilence((_, leader) => leader.pause(ms, isSuspended), { forMs: 100_000 });
      expect(silentMs).toBeLessThan(1.5 * TTL_MS);
    }
  }
});

test("a leader that is cut off, one way or both, is replaced before it may not send for long", async () => {
  for (const ways of [
    { up: true, down: true },
    { up: true, down: false },
    { up: false, down: true },
  ]) {
    expect(await longestSilence((_, leader) => leader.cut(60_000, ways))).toBeLessThan(TTL_MS);
  }
});

test("a rolling update is a second of silence at each of its steps", async () => {
  const silentMs = await longestSilence((world) => {
    for (const [index, process] of world.live.entries()) {
      world.clock.after(index * 5_000, () => process.stop(0));
      world.clock.after(index * 5_000 + 2_000, () => void world.spawn(process.name));
    }
  });
  expect(silentMs).toBeLessThan(1_000);
});

test("lives of 15 s with a cold start of 40 s are silent for a minute, and not for ever", async () => {
  const configs = [budgets("a", 40_000)];
  for (const seed of SEEDS) {
    const world = await steady(seed, configs, ["a"]);
    leaderOf(world).kill();
    for (let life = 0; life < 20; life += 1) {
      const process = world.spawn("a");
      await world.run(15_000);
      process.kill();
      await world.run(500);
    }
    expect(world.judge.wrongs, `seed ${seed}`).toEqual([]);
    expect(world.judge.silentMs.get("whole")).toBeLessThan(75_000 / 0.9);
  }
});

test("a healthy process beside two that crash all the time polls nearly always", async () => {
  for (const seed of SEEDS) {
    const world = await steady(seed, PACED, ["healthy"]);
    for (const [name, lifeMs] of [
      ["x", 13_000],
      ["y", 17_000],
    ] as const) {
      const again = (): void => {
        const process = world.spawn(name);
        world.clock.after(lifeMs, () => {
          process.kill();
          world.clock.after(500, again);
        });
      };
      again();
    }
    await world.run(200_000);
    expect(world.judge.wrongs, `seed ${seed}`).toEqual([]);
    expect(world.judge.silentMs.get("paced")).toBeLessThan(500);
  }
});

test("a budget with other terms than the leader before had waits for the longer of both windows", async () => {
  const configs = [budgets("old", 20_000), budgets("new", 5_000)];
  for (const seed of SEEDS) {
    const world = await steady(seed, configs, ["a"]);
    world.config = 1;
    world.spawn("b");
    await world.run(3_000);
    leaderOf(world).stop(0);
    await world.run(40_000);
    expect(world.judge.wrongs, `seed ${seed}`).toEqual([]);
    expect(world.judge.silentMs.get("paced")).toBeGreaterThan(20_000 * 0.9);
    expect(leaderOf(world).name).toBe("b");
  }
});

test.each(["lock", "notes"] as const)(
  "what somebody else keeps in the key of the %s is not touched, and said once; without it, one leads",
  async (where) => {
    const world = new LockWorld({ seed: 1 });
    const foreign = '{"format":2}';
    world[where].set({ text: foreign, writtenIn: 0 });
    const process = world.spawn("a");
    await world.run(60_000);
    expect(world.leader).toBeUndefined();
    expect(world[where].now.text).toBe(foreign);
    expect(process.state).toMatchObject({ role: "foreign", leader: undefined });
    expect(process.foreignTold).toBe(1);
    world[where].set({ text: undefined, writtenIn: 0 });
    await world.run(60_000);
    expect(process.state.role).toBe("leading");
  },
);

test("each process knows who leads, and since when the lock is away", async () => {
  const world = await steady(3);
  const leader = leaderOf(world);
  expect(leader.state).toMatchObject({ role: "leading", leader: { name: leader.name } });
  expect(leader.reign?.term).toBe(1);
  for (const process of world.live) {
    if (process === leader) continue;
    const state = { role: "standby", leader: { name: leader.name } };
    expect(process.state).toMatchObject({ ...state, unreachableSinceMs: undefined });
  }
  world.outage(20_000, false);
  await world.run(15_000);
  for (const process of world.live) expect(process.state.unreachableSinceMs).toBeGreaterThan(0);
  expect(leader.state.role).not.toBe("leading");
  await world.run(20_000);
  for (const process of world.live) expect(process.state.unreachableSinceMs).toBeUndefined();
});

test("what somebody else writes over the notes of a leader stays, is told once, and nothing is sent; without it, one leads", async () => {
  const world = await steady(1);
  const leader = leaderOf(world);
  const foreign = '{"format":2}';
  world.notes.set({ text: foreign, writtenIn: world.era });
  world.judge.isLossy = true;
  leader.learn();
  await world.run(60_000);
  expect(world.notes.now.text).toBe(foreign);
  expect(world.leader).toBeUndefined();
  expect(world.live.reduce((sum, { foreignTold }) => sum + foreignTold, 0)).toBe(1);
  world.notes.set({ text: undefined, writtenIn: 0 });
  await world.run(60_000);
  expect(world.leader).toBeDefined();
  expect(world.judge.wrongs).toEqual([]);
});
