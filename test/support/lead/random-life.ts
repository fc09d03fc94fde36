import { budgets, LockWorld, type Process } from "./world.ts";

export type Life = {
  readonly wrongs: readonly string[];
  readonly lives: number;
  /** After the adversary rested, in units of the longest ttl, beside the longest cold start. */
  readonly backAfterTtls: number;
};

type Act = (typeof ACTS)[number];

const ACTS = [
  "kill",
  "kill",
  "stop",
  "stop",
  "pause",
  "suspend",
  "cut",
  "cut",
  "slow",
  "empty",
  "setBack",
  "setBack",
  "failover",
  "failover",
  "outage",
  "roll",
  "reconfigure",
  "burst",
] as const;

const LOSSES: ReadonlySet<Act> = new Set(["empty", "setBack", "failover"]);

const TTL_MS = 10_000;

/** A world with an adversary for a while, then calm. The same for the same seed. */
export async function randomLife(seed: number, longestMs = 300_000): Promise<Life> {
  const dice = new LockWorld({ seed: seed + 1_000_003 });
  const { random } = dice;
  const one = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const windowMs = one([60, 3_000, 15_000, 40_000]);
  const configs = [budgets("a", windowMs), budgets("b", one([3_000, 15_000, 25_000]))];
  const isMixed = random() < 0.15;
  const ttls = isMixed ? [5_000, 10_000, 30_000] : [TTL_MS];
  const world = new LockWorld({ seed, ttlMs: TTL_MS, configs });
  if (random() < 0.5) world.faults.loss = 0.15 * random();
  if (random() < 0.3) world.faults.repeats = 0.1;
  if (random() < 0.5) world.faults.stragglers = 0.05 * random();
  const names = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, index) => `p${index}`);
  if (random() < 0.3 && names.length > 1) names[1] = "p0";
  const spawn = (name: string): Process => world.spawn(name, one(ttls));
  for (const name of names) world.clock.after(random() * 3_000, () => spawn(name));
  const offered = ACTS.filter((act) => !isMixed || !LOSSES.has(act));
  const some = offered.filter(() => random() < 0.6);
  const acts = some.length > 0 ? some : [one(offered)];
  const paceMs = one([500, 3_000, 12_000]);

  const pick = (): Process | undefined => {
    const { live } = world;
    const leading = live.filter(({ reign }) => reign !== undefined);
    return leading.length > 0 && random() < 0.6 ? one(leading) : live.length > 0 ? one(live) : undefined;
  };
  const startAgain = (name: string): void => {
    world.clock.after(random() * (random() < 0.5 ? 500 : 20_000), () => {
      const running = world.live.filter((process) => process.name === name).length;
      if (!isCalm && running < names.filter((each) => each === name).length) spawn(name);
    });
  };
  const end = (process: Process, act: () => void): void => {
    act();
    startAgain(process.name);
  };
  let isCalm = false;

  const doAct = (act: Act): void => {
    const process = pick();
    if (process === undefined) return;
    switch (act) {
      case "kill":
        return end(process, () => process.kill());
      case "stop":
        return end(process, () => process.stop(random() < 0.5 ? 0 : random() * 5_000));
      case "pause":
        return process.pause(TTL_MS * (0.05 + 2 * random() ** 2), false);
      case "suspend":
        return process.pause(TTL_MS * (0.05 + 3 * random()), true);
      case "cut": {
        const way = Math.floor(random() * 3);
        return process.cut(TTL_MS * 3 * random(), { up: way !== 1, down: way !== 0 });
      }
      case "slow": {
        process.slowMs = TTL_MS * random() * 0.6;
        return void world.clock.after(TTL_MS * 4 * random(), () => (process.slowMs = 0));
      }
      case "empty":
        return world.emptied();
      case "setBack":
      case "failover": {
        const isFar = act === "setBack";
        const states = isFar ? Math.floor(random() ** 2 * 60) : 1 + Math.floor(random() * 3);
        const downMs = random() < 0.6 ? 0 : TTL_MS * (isFar ? 1.5 : 1) * random();
        world.setBack(states, downMs);
        // The nastiest: right then the leader is cut off.
        const leader = world.live.find(({ reign }) => reign !== undefined);
        if (random() < 0.5) leader?.cut(TTL_MS * 2 * random(), { up: true, down: true });
        return undefined;
      }
      case "outage":
        return world.outage(random() * 2 * TTL_MS, random() < 0.5 && !isMixed);
      case "roll": {
        let afterMs = 0;
        for (const each of world.live) {
          world.clock.after(afterMs, () => end(each, () => each.stop(0)));
          afterMs += random() * 5_000;
        }
        return undefined;
      }
      case "reconfigure":
        return world.reconfigure();
      case "burst": {
        for (let left = 2 + Math.floor(random() * 3); left > 0; left -= 1) {
          const other = one(acts);
          doAct(other === "burst" ? "kill" : other);
        }
        return undefined;
      }
      default:
        return act satisfies never;
    }
  };

  const endMs = longestMs * (0.3 + 0.7 * random());
  for (let atMs = 2_000 + random() * 30_000; atMs < endMs; atMs += paceMs * (0.1 + 2 * random() ** 2))
    world.clock.after(atMs, () => doAct(one(acts)));
  await world.run(endMs);

  isCalm = true;
  Object.assign(world.faults, { loss: 0, repeats: 0, stragglers: 0 });
  // What was cut or away comes back; who is still stopped or stopping is replaced.
  await world.run(3 * TTL_MS);
  for (const process of world.live) if (process.isPaused || process.isStopping) process.kill();
  for (const process of world.live) process.slowMs = 0;
  for (const name of new Set(names)) if (!world.live.some((process) => process.name === name)) spawn(name);
  world.judge.mark();
  const longestTtlMs = Math.max(...ttls);
  const coldMs = Math.max(...configs.flat().map(({ wholeMs }) => wholeMs)) / 0.9;
  await world.run(6 * longestTtlMs + 2 * coldMs);
  const silentMs = Math.max(...world.judge.silentMs.values());
  return {
    wrongs: world.judge.wrongs,
    lives: world.lives,
    backAfterTtls: (silentMs - coldMs) / longestTtlMs,
  };
}
