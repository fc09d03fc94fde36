import { describe, expect, test } from "vitest";
import { type SmallOptions, smallConfig, SmallReplica, VirtualBoards } from "../../support/fleet-world.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const TTL_MS = 10_000;
const BEAT_MS = TTL_MS / 5;

type World = {
  readonly clock: VirtualClock;
  readonly boards: VirtualBoards;
  readonly begin: (name: string, changes?: Partial<SmallOptions>) => SmallReplica;
  readonly longestSilence: (forMs: number, ...replicas: readonly SmallReplica[]) => Promise<number>;
};

const UPSTREAMS = 12;

function worldOf(common: Partial<SmallOptions> = {}): World {
  const clock = new VirtualClock();
  const boards = new VirtualBoards(clock);
  const names = smallConfig({ name: "", upstreams: UPSTREAMS }).namesOf;
  return {
    clock,
    boards,
    begin: (name, changes = {}) =>
      new SmallReplica(clock, boards, { name, upstreams: UPSTREAMS, ...common, ...changes }),
    longestSilence: async (forMs, ...replicas) => {
      const STEP_MS = 40;
      const silentMs = new Map([...names.keys()].map((name) => [name, 0]));
      let longestMs = 0;
      for (let ms = 0; ms < forMs; ms += STEP_MS) {
        await clock.advance(STEP_MS);
        for (const name of names.keys()) {
          const holders = replicas.filter((each) => each.polled.has(name) && each.holdings.has(name));
          expect(holders.length).toBeLessThanOrEqual(1);
          const now = holders.length > 0 ? 0 : (silentMs.get(name) ?? 0) + STEP_MS;
          silentMs.set(name, now);
          longestMs = Math.max(longestMs, now);
        }
      }
      return longestMs;
    },
  };
}

async function settled(world: World, ...names: readonly string[]): Promise<SmallReplica[]> {
  const replicas = names.map((name) => world.begin(name));
  await world.clock.advance(4 * TTL_MS);
  return replicas;
}

/** As by SIGKILL. */
function kill(replica: SmallReplica | undefined): void {
  if (replica === undefined) throw new Error("it must live");
  replica.line = "cut";
  replica.polled.clear();
}

const total = (...replicas: readonly SmallReplica[]): number =>
  replicas.reduce((sum, { polled }) => sum + polled.size, 0);

test("replicas divide the groups evenly, and each is held by one of them", async () => {
  const world = worldOf();
  const replicas = await settled(world, "a", "b", "c");
  expect(replicas.map(({ polled }) => polled.size)).toEqual([4, 4, 4]);
  expect(await world.longestSilence(TTL_MS, ...replicas)).toBe(0);
});

test("a replica shows what it polls as held by itself at once, and not only with its next beat", async () => {
  const world = worldOf();
  const a = world.begin("a");
  for (let ms = 0; ms < 2 * TTL_MS; ms += 100) {
    await world.clock.advance(100);
    const holders = [...a.polled].map((name) => a.membership.view.holderOf(`u:${name}`));
    expect(new Set(holders).difference(new Set([a.holdings.session]))).toEqual(new Set());
  }
  expect(a.polled.size).toBe(UPSTREAMS);
});

test("upstreams of one budget are held together, and a budget belongs to one replica", async () => {
  const world = worldOf({ budgetOf: (name) => `account-${Number(name.slice(-1)) % 3}` });
  const [a, b] = await settled(world, "a", "b");
  expect(total(...[a, b].filter((each) => each !== undefined))).toBe(UPSTREAMS);
  const budgetsOf = (replica: SmallReplica | undefined): string[] =>
    [...(replica?.holdings.claimed ?? [])].filter((name) => name.startsWith("b:"));
  expect([...budgetsOf(a), ...budgetsOf(b)].sort()).toEqual(["b:account-0", "b:account-1", "b:account-2"]);
});

describe("nobody is dark for longer than needed", () => {
  test("a replica is killed", async () => {
    const world = worldOf();
    const [a, b, c] = await settled(world, "a", "b", "c");
    if (a === undefined || b === undefined || c === undefined) throw new Error("three began");
    kill(a);
    expect(await world.longestSilence(4 * TTL_MS, a, b, c)).toBeLessThanOrEqual(TTL_MS + 200);
    expect(total(b, c)).toBe(UPSTREAMS);
  });

  test("Redis is emptied: nobody notices", async () => {
    const world = worldOf();
    const replicas = await settled(world, "a", "b");
    world.boards.empty();
    expect(await world.longestSilence(4 * TTL_MS, ...replicas)).toBe(0);
    world.boards.restart();
    expect(await world.longestSilence(4 * TTL_MS, ...replicas)).toBe(0);
  });

  test("a replica is killed, and pages are read all the time: it is missed no later", async () => {
    const world = worldOf();
    const [a, b] = await settled(world, "a", "b");
    if (a === undefined || b === undefined) throw new Error("two began");
    for (let page = 0; page < 400; page += 1)
      world.clock.after(page * 100, () => void world.boards.records());
    kill(a);
    expect(await world.longestSilence(4 * TTL_MS, a, b)).toBeLessThanOrEqual(TTL_MS + 200);
  });

  test("a page is read first of an emptied board: nobody is given what another one holds by its own clock", async () => {
    const world = worldOf();
    const [a, b] = await settled(world, "a", "b");
    if (a === undefined || b === undefined) throw new Error("two began");
    world.boards.empty();
    world.boards.records();
    b.line = "cut";
    expect(await world.longestSilence(4 * TTL_MS, a, b)).toBeLessThanOrEqual(TTL_MS);
    expect(a.polled.size).toBe(UPSTREAMS);
  });

  test("Redis's clock is set forward and back by an hour: nobody notices", async () => {
    const world = worldOf();
    const replicas = await settled(world, "a", "b");
    for (const byMs of [3_600_000, -7_200_000, 9_000]) {
      world.boards.step(byMs);
      expect(await world.longestSilence(2 * TTL_MS, ...replicas)).toBe(0);
    }
  });

  test("Redis is away for 30 s: all stop, and are back within half a TTL of its return", async () => {
    const world = worldOf();
    const replicas = await settled(world, "a", "b");
    world.boards.isAway = true;
    await world.clock.advance(30_000);
    expect(total(...replicas)).toBe(0);
    world.boards.isAway = false;
    expect(await world.longestSilence(2 * TTL_MS, ...replicas)).toBeLessThanOrEqual(TTL_MS / 2);
  });

  test.each([UPSTREAMS, 1])(
    "Redis is away: what is polled, %i upstreams, ends with the session",
    async (upstreams) => {
      const world = worldOf({ upstreams });
      const [a] = await settled(world, "a");
      if (a === undefined) throw new Error("it began");
      expect(a.polled.size).toBe(upstreams);
      world.boards.isAway = true;
      for (let ms = 0; ms < 2 * TTL_MS; ms += 20) {
        await world.clock.advance(20);
        expect(a.holdings.isSessionValid || a.polled.size === 0).toBe(true);
      }
      expect(a.holdings.isSessionValid).toBe(false);
    },
  );

  test("Redis's connections are reset every second, or as often as a beat comes: nobody notices", async () => {
    const world = worldOf();
    const replicas = await settled(world, "a", "b", "c");
    for (const everyMs of [1_000, 900, BEAT_MS, 0.9 * BEAT_MS]) {
      world.boards.resetEvery(everyMs);
      expect(await world.longestSilence(60_000, ...replicas)).toBe(0);
    }
  });

  test("one replica's commands arrive, and their answers do not: others take over", async () => {
    const world = worldOf();
    const [a, b] = await settled(world, "a", "b");
    if (a === undefined || b === undefined) throw new Error("two began");
    a.line = "answers lost";
    expect(await world.longestSilence(6 * TTL_MS, a, b)).toBeLessThanOrEqual(2 * TTL_MS);
    expect(b.polled.size).toBe(UPSTREAMS);
    a.line = "well";
    expect(await world.longestSilence(4 * TTL_MS, a, b)).toBeLessThanOrEqual(BEAT_MS + 500);
    expect(a.polled.size).toBe(UPSTREAMS / 2);
  });

  test("a general crash, and then one replica of four crash-loops", async () => {
    const world = worldOf();
    const before = await settled(world, "a", "b", "c", "d");
    for (const replica of before) kill(replica);
    const others = ["a", "b", "c"].map((name) => world.begin(name, { boot: "second" }));
    let looping = world.begin("d", { boot: "life-0" });
    let longestMs = 0;
    for (let life = 1; life < 12; life += 1) {
      longestMs = Math.max(longestMs, await world.longestSilence(5_000, ...others, looping));
      kill(looping);
      looping = world.begin("d", { boot: `life-${life}` });
    }
    expect(await world.longestSilence(2 * TTL_MS, ...others, looping)).toBeLessThanOrEqual(2 * TTL_MS);
    expect(total(...others, looping)).toBe(UPSTREAMS);
  });

  test("a replica whose lives are a little longer than a TTL is given nothing, once it has died a few times", async () => {
    const world = worldOf();
    const others = await settled(world, "a", "b", "c");
    let looping = world.begin("d", { boot: "life-0" });
    const silencesMs: number[] = [];
    for (let life = 1; life < 9; life += 1) {
      silencesMs.push(await world.longestSilence(1.3 * TTL_MS, ...others, looping));
      kill(looping);
      looping = world.begin("d", { boot: `life-${life}` });
    }
    expect(Math.max(...silencesMs.slice(0, 3))).toBeGreaterThan(TTL_MS / 2);
    expect(Math.max(...silencesMs.slice(3))).toBeLessThanOrEqual(BEAT_MS);
    // The last one lives on, and is given its part in the end.
    expect(await world.longestSilence(40 * TTL_MS, ...others, looping)).toBeLessThanOrEqual(BEAT_MS);
    expect(looping.polled.size).toBe(UPSTREAMS / 4);
  });

  test("all replicas crash-loop: what lives is polled by whoever lives", async () => {
    const world = worldOf();
    const polledFor = new Set<string>();
    for (let life = 0; life < 10; life += 1) {
      const lives = ["a", "b"].map((name) => world.begin(name, { boot: `life-${life}` }));
      for (let ms = 0; ms < 12_000; ms += 100) {
        await world.clock.advance(100);
        for (const { polled } of lives) for (const name of polled) polledFor.add(name);
      }
      for (const replica of lives) kill(replica);
    }
    expect(polledFor.size).toBe(UPSTREAMS);
  });

  test("a newcomer is given its part, and nothing else moves", async () => {
    const world = worldOf();
    const others = await settled(world, "a", "b");
    const newcomer = world.begin("c");
    const lost = (): number[] => others.map(({ membership }) => membership.ownership.moves.lost);
    const before = lost();
    expect(await world.longestSilence(4 * TTL_MS, ...others, newcomer)).toBeLessThanOrEqual(BEAT_MS);
    expect(newcomer.membership.ownership.moves).toEqual({ gained: UPSTREAMS / 3, lost: 0 });
    expect(lost().map((count, index) => count - (before[index] ?? 0))).toEqual([2, 2]);
  });

  test("what moves is nobody else's until its last poll here is over, however long that takes", async () => {
    const world = worldOf();
    const [a, b] = await settled(world, "a", "b");
    if (a === undefined || b === undefined) throw new Error("two began");
    for (const each of [a, b]) each.drainTakesMs = TTL_MS;
    const newcomer = world.begin("c");
    for (let ms = 0; ms < 4 * TTL_MS; ms += 100) {
      await world.clock.advance(100);
      for (const name of newcomer.polled)
        expect([a.polled.has(name), b.polled.has(name)]).toEqual([false, false]);
    }
    expect(newcomer.polled.size).toBe(UPSTREAMS / 3);
  });

  test("an orderly stop hands over within a beat", async () => {
    const world = worldOf();
    const [a, b] = await settled(world, "a", "b");
    if (a === undefined || b === undefined) throw new Error("two began");
    a.membership.leave();
    await world.clock.advance(500);
    const held = [...a.polled];
    const closed = a.membership.close();
    a.polled.clear();
    expect(await world.longestSilence(TTL_MS, b)).toBeLessThanOrEqual(BEAT_MS + 500);
    await closed;
    // What was drawn of their quotas and not sent is given back first.
    expect([...a.ended].toSorted()).toEqual(held.toSorted());
    expect(b.polled.size).toBe(UPSTREAMS);
  });
});

describe("a takeover is a restart", () => {
  test("after a kill, the next holder waits by the rule of a restart, from when the session ended", async () => {
    const world = worldOf({ coldMs: 3_000 });
    const [a, b] = await settled(world, "a", "b");
    if (a === undefined || b === undefined) throw new Error("two began");
    const lost = [...a.polled];
    kill(a);
    await world.clock.advance(2 * TTL_MS);
    for (const name of lost) {
      expect(b.waitsMs.get(name)).toBeGreaterThan(2_000);
      expect(b.waitsMs.get(name)).toBeLessThanOrEqual(3_000);
    }
  });

  test("after an orderly release of what no longer counts, it waits for nothing", async () => {
    const world = worldOf({ coldMs: 3_000 });
    const [a, b] = await settled(world, "a", "b");
    if (a === undefined || b === undefined) throw new Error("two began");
    const given = [...a.polled];
    const closed = a.membership.close();
    await world.clock.advance(TTL_MS);
    await closed;
    expect(given.map((name) => b.waitsMs.get(name))).toEqual(given.map(() => 0));
  });

  test("what its holder's config says now counts, also where the next one has the config of before", async () => {
    const world = worldOf({ coldMs: 1_000 });
    const [a] = await settled(world, "a");
    if (a === undefined) throw new Error("it began");
    Object.assign(a, { coldMs: 30_000, terms: "longer" });
    a.membership.setConfig(smallConfig({ name: "a", upstreams: UPSTREAMS, digest: "longer" }));
    await world.clock.advance(2 * BEAT_MS);
    kill(a);
    const b = world.begin("b");
    await world.clock.advance(3 * TTL_MS);
    expect(b.waitsMs.size).toBe(UPSTREAMS);
    for (const waitMs of b.waitsMs.values()) expect(waitMs).toBeGreaterThan(20_000);
  });

  test("a replica that dies while it waits does not begin the wait anew", async () => {
    const world = worldOf({ coldMs: 100_000 });
    const [a] = await settled(world, "a");
    kill(a);
    const second = world.begin("b");
    await world.clock.advance(3 * TTL_MS);
    expect(second.polled.size).toBe(UPSTREAMS);
    kill(second);
    const third = world.begin("c");
    await world.clock.advance(3 * TTL_MS);
    expect(third.polled.size).toBe(UPSTREAMS);
    const [waitMs = 0] = third.waitsMs.values();
    expect(waitMs).toBeLessThan(45_000);
    expect(waitMs).toBeGreaterThan(15_000);
  });
});

test("a replica whose release was not answered begins a new session, and keeps all the rest", async () => {
  const world = worldOf();
  const [a, b] = await settled(world, "a", "b");
  if (a === undefined || b === undefined) throw new Error("two began");
  const former = a.holdings.session;
  const newcomer = world.begin("c");
  const before = a.polled.size;
  for (let ms = 0; ms < 3 * TTL_MS && a.polled.size === before; ms += 0.25) await world.clock.advance(0.25);
  a.line = "answers lost";
  await world.clock.advance(600);
  a.line = "well";
  const kept = [...a.polled];
  expect(kept.length).toBe(before - 2);
  expect(await world.longestSilence(3 * TTL_MS, a, b, newcomer)).toBeLessThanOrEqual(2 * BEAT_MS);
  expect(a.holdings.session).not.toBe(former);
  expect([...a.polled]).toEqual(kept);
  expect(total(a, b, newcomer)).toBe(UPSTREAMS);
});

test("a replica that holds nothing, and whose release was not answered, begins one new session and rests", async () => {
  const world = worldOf();
  const [a] = await settled(world, "a");
  if (a === undefined) throw new Error("one began");
  a.membership.setConfig(smallConfig({ name: "a", upstreams: 0, digest: "empty" }));
  for (let ms = 0; ms < TTL_MS && a.polled.size > 0; ms += 0.25) await world.clock.advance(0.25);
  a.line = "answers lost";
  await world.clock.advance(600);
  a.line = "well";
  const before = world.boards.calls;
  await world.clock.advance(2 * TTL_MS);
  expect(world.boards.calls - before).toBeLessThan(40);
});

test("what one replica alone should do is done by the eldest; after its death, by the next one", async () => {
  const world = worldOf();
  const eldest = (...replicas: readonly SmallReplica[]): readonly string[] =>
    replicas.filter(({ membership }) => membership.isEldest).map(({ name }) => name);
  const [b, a] = [world.begin("b"), world.begin("a")];
  expect(eldest(a, b)).toEqual([]);
  await world.clock.advance(TTL_MS);
  const c = world.begin("c");
  await world.clock.advance(TTL_MS);
  const [first] = eldest(a, b, c);
  expect(eldest(a, b, c)).toEqual([first]);
  const [dead, other] = first === "a" ? [a, b] : [b, a];
  kill(dead);
  await world.clock.advance(2 * TTL_MS);
  expect(eldest(dead, other, c)).toEqual([other.name]);
  // Who leaves does it until the last moment.
  other.membership.leave();
  await world.clock.advance(BEAT_MS);
  expect(eldest(dead, other, c)).toEqual([other.name]);
  const closing = other.membership.close();
  await world.clock.advance(2 * BEAT_MS);
  await closing;
  expect(eldest(dead, c)).toEqual(["c"]);
});

test("what was missed while nobody held an upstream is known to whoever takes over", async () => {
  const world = worldOf();
  const [a, b] = await settled(world, "a", "b");
  if (a === undefined || b === undefined) throw new Error("two began");
  a.sees(
    "u:upstream-0",
    JSON.stringify({ vantage: "a", state: "down", sinceMs: 1_700_000_000_000, knownUntilMs: 1 }),
  );
  b.sees(
    "u:upstream-0",
    JSON.stringify({ vantage: "b", state: "down", sinceMs: 1_700_000_000_000, knownUntilMs: 1 }),
  );
  await world.clock.advance(2 * BEAT_MS);
  const [holder, other] = a.polled.has("upstream-0") ? [a, b] : [b, a];
  kill(holder);
  await world.clock.advance(2 * TTL_MS);
  const gained = other.gains.findLast(({ upstream }) => upstream === "upstream-0");
  expect(gained?.view).toMatchObject({ state: "down", sinceMs: 1_700_000_000_000 });
  expect(gained?.unheldMs).toBeGreaterThan(TTL_MS / 2);
  expect(gained?.unheldMs).toBeLessThan(2 * TTL_MS);
});

test("what is told of an upstream is told once, until it changes; and from time to time all is told again", async () => {
  const world = worldOf();
  const [a] = await settled(world, "a");
  if (a === undefined) throw new Error("one began");
  const told: string[] = [];
  const { board } = world.boards;
  const tell = board.tell.bind(board);
  board.tell = (time, news) => {
    told.push(...news.records.values());
    return tell(time, news);
  };
  for (const text of ["up", "up", "down", "down"]) {
    a.sees("u:upstream-0", text);
    await world.clock.advance(2 * BEAT_MS);
  }
  expect(told).toEqual(["up", "down"]);
  await world.clock.advance(600_000);
  expect(told).toEqual(["up", "down", "down", "down"]);
});

test("however many upstreams change between two beats, each is told with the next one", async () => {
  const world = worldOf();
  const [a] = await settled(world, "a");
  if (a === undefined) throw new Error("one began");
  const names = Array.from({ length: 2_500 }, (_, index) => `u:upstream-${index}`);
  for (const text of ["up", "down", "up again"]) {
    for (const name of names) a.sees(name, text);
    await world.clock.advance(BEAT_MS + 100);
    const written = world.boards.records();
    expect(names.filter((name) => written.get(name) !== text)).toEqual([]);
  }
});

test("a change that did not reach the board is told with a later beat, though nothing changes any more", async () => {
  const world = worldOf();
  const [a] = await settled(world, "a");
  if (a === undefined) throw new Error("one began");
  const { board } = world.boards;
  const tell = board.tell.bind(board);
  board.tell = (time, news) => {
    a.line = "answers lost";
    board.tell = tell;
    return tell(time, { ...news, records: new Map() });
  };
  a.sees("u:upstream-0", "down");
  await world.clock.advance(2 * BEAT_MS);
  a.line = "well";
  expect(world.boards.records().get("u:upstream-0")).toBeUndefined();
  await world.clock.advance(2 * BEAT_MS);
  expect(world.boards.records().get("u:upstream-0")).toBe("down");
});

test("while nothing changes, a beat looks at none of the groups, however many there are", async () => {
  const world = worldOf();
  const replica = world.begin("a");
  let looks = 0;
  const config = smallConfig({ name: "a", upstreams: UPSTREAMS });
  const groups = config.groups.map(
    (group) => new Proxy(group, { get: (...asked) => ((looks += 1), Reflect.get(...asked)) }),
  );
  replica.membership.setConfig({ ...config, groups });
  world.begin("b");
  await world.clock.advance(4 * TTL_MS);
  expect(looks).toBeGreaterThan(0);
  looks = 0;
  await world.clock.advance(10 * TTL_MS);
  expect(looks).toBe(0);
  const newcomer = world.begin("c");
  await world.clock.advance(4 * TTL_MS);
  expect(looks).toBeGreaterThan(0);
  expect(newcomer.polled.size).toBe(UPSTREAMS / 3);
});

test("who has stopped in order is no member any more, and who was killed is one for as long as its session", async () => {
  const world = worldOf();
  const [a, b, c] = await settled(world, "a", "b", "c");
  const members = (): string => (c?.membership.view.members ?? []).map(({ name }) => name).join("");
  const closed = a?.membership.close();
  kill(b);
  await world.clock.advance(BEAT_MS + 500);
  await closed;
  expect(members()).toBe("bc");
  await world.clock.advance(TTL_MS);
  expect(members()).toBe("c");
});

test("a pause is told to all at once, and again to a board that was emptied", async () => {
  const world = worldOf();
  const [a, b] = await settled(world, "a", "b");
  if (a === undefined || b === undefined) throw new Error("two began");
  a.membership.tellings.pause("u:upstream-0", 45_000);
  await world.clock.advance(BEAT_MS + 500);
  expect(b.pausesHeard.get("upstream-0")).toBeGreaterThan(40_000);
  world.boards.empty();
  b.pausesHeard.clear();
  await world.clock.advance(3 * BEAT_MS);
  expect(b.pausesHeard.get("upstream-0")).toBeGreaterThan(30_000);
});

test("a pause that the operator ended is told to nobody any more, not even to a board that was emptied", async () => {
  const world = worldOf();
  const [a, b] = await settled(world, "a", "b");
  if (a === undefined || b === undefined) throw new Error("two began");
  a.membership.tellings.pause("u:upstream-0", 45_000);
  await world.clock.advance(BEAT_MS + 500);
  a.membership.tellings.resumed("u:upstream-0");
  await world.clock.advance(BEAT_MS + 500);
  world.boards.empty();
  b.pausesHeard.clear();
  await world.clock.advance(3 * BEAT_MS);
  expect(b.pausesHeard).toEqual(new Map());
});

test("a pause that the operator ended at another replica is not told again by the one that heard it from the upstream", async () => {
  const world = worldOf();
  const [a, b] = await settled(world, "a", "b");
  if (a === undefined || b === undefined) throw new Error("two began");
  a.membership.tellings.pause("u:upstream-0", 45_000);
  await world.clock.advance(BEAT_MS + 500);
  b.membership.tellings.resumed("u:upstream-0");
  await world.clock.advance(500);
  b.pausesHeard.clear();
  await world.clock.advance(3 * BEAT_MS);
  expect(b.pausesHeard).toEqual(new Map());
});

test("a pause that begins after the operator ended one while Redis was away is told once it is back", async () => {
  const world = worldOf();
  const [a, b] = await settled(world, "a", "b");
  if (a === undefined || b === undefined) throw new Error("two began");
  a.membership.tellings.pause("u:upstream-0", 45_000);
  await world.clock.advance(BEAT_MS + 500);
  world.boards.isAway = true;
  a.membership.tellings.resumed("u:upstream-0");
  await world.clock.advance(500);
  a.membership.tellings.pause("u:upstream-0", 90_000);
  world.boards.isAway = false;
  b.pausesHeard.clear();
  await world.clock.advance(3 * BEAT_MS);
  expect(b.pausesHeard.get("upstream-0")).toBeGreaterThan(60_000);
});

test("a board that was emptied is told within two beats how each upstream stands, though nothing has changed", async () => {
  const world = worldOf();
  const [a] = await settled(world, "a");
  a?.sees("u:upstream-0", "down");
  await world.clock.advance(2 * BEAT_MS);
  world.boards.empty();
  await world.clock.advance(2 * BEAT_MS);
  expect(world.boards.records().get("u:upstream-0")).toBe("down");
});

test("a beat that fails is sent again at once, but a Redis that is away is not asked all the time", async () => {
  const world = worldOf();
  await settled(world, "a");
  world.boards.isAway = true;
  const callsWithin = async (ms: number): Promise<number> => {
    const before = world.boards.calls;
    await world.clock.advance(ms);
    return world.boards.calls - before;
  };
  expect(await callsWithin(2 * BEAT_MS)).toBeGreaterThan(4);
  expect(await callsWithin(60_000)).toBeLessThan(30);
});

test("who has never reached Redis asks it nothing more when it stops", async () => {
  const world = worldOf();
  world.boards.isAway = true;
  const a = world.begin("a");
  await world.clock.advance(TTL_MS);
  const before = world.boards.calls;
  const closed = a.membership.close();
  await world.clock.advance(TTL_MS);
  await closed;
  expect(world.boards.calls).toBe(before);
});

test("replicas of one config, whose clocks agree, say nothing of either", async () => {
  const replicas = await settled(worldOf(), "a", "b", "c");
  const said = replicas.flatMap(({ logged }) => logged);
  expect(said.filter((line) => !line.startsWith("waiting: Redis has lost its data"))).toEqual([]);
});

test("an upstream that a reload moves to another budget is polled again once that one is held, and not before", async () => {
  const world = worldOf({ budgetOf: () => "account" });
  const [a] = await settled(world, "a");
  if (a === undefined) throw new Error("one began");
  const budgetOf = (name: string): string => (name === "upstream-0" ? "added" : "account");
  a.membership.setConfig(smallConfig({ name: "a", upstreams: UPSTREAMS, budgetOf, digest: "moved" }));
  expect(a.polled.size).toBe(UPSTREAMS - 1);
  expect(a.polled.has("upstream-0")).toBe(false);
  await world.clock.advance(2 * BEAT_MS);
  expect(a.holdings.claimed.has("b:added")).toBe(true);
  expect(a.polled.size).toBe(UPSTREAMS);
  expect(a.gains.at(-1)).toMatchObject({ upstream: "upstream-0", unheldMs: 0 });
  expect(a.membership.ownership.moves).toEqual({ gained: UPSTREAMS, lost: 0 });
});

test("a group of a newer config that an older one blocks is handed over, and nothing goes back", async () => {
  const old = (name: string): string => (name === "upstream-1" ? "account-1" : "account-2");
  const moved = (): string => "account-2";
  const world = worldOf({ upstreams: 3 });
  const a = world.begin("a", { budgetOf: old, digest: "old" });
  const b = world.begin("b", { budgetOf: old, digest: "old" });
  await world.clock.advance(3 * TTL_MS);
  expect([...a.polled, ...b.polled].length).toBe(3);
  // The holder of account-2 stops, and comes back with the config in which it has all upstreams.
  const [leaving, staying] = a.polled.has("upstream-0") ? [a, b] : [b, a];
  const closed = leaving.membership.close();
  leaving.polled.clear();
  await world.clock.advance(1_000);
  await closed;
  staying.membership.setConfig(smallConfig({ name: "x", upstreams: 3, budgetOf: old, digest: "old" }));
  const renewed = world.begin(leaving.name, {
    boot: "second",
    budgetOf: moved,
    digest: "new",
    wallAheadMs: 1,
  });
  await world.clock.advance(6 * TTL_MS);
  expect(renewed.polled.size + staying.polled.size).toBe(3);
  expect(renewed.logged.join(" ")).toContain("different configs");
  const before = [...renewed.polled];
  await world.clock.advance(6 * TTL_MS);
  expect([...renewed.polled]).toEqual(before);
});

test("an upstream that the newer config moves to another budget is asked for, and nothing else moves", async () => {
  const old = (name: string): string => (name === "upstream-1" ? "account-1" : "account-2");
  const renamed = (name: string): string => (name === "upstream-1" ? "account-3" : "account-2");
  const world = worldOf({ upstreams: 3 });
  const staying = world.begin("a", { budgetOf: old, digest: "old" });
  await world.clock.advance(3 * TTL_MS);
  expect(staying.polled.size).toBe(3);
  const newer = world.begin("b", { budgetOf: renamed, digest: "new", wallAheadMs: 1 });
  await world.clock.advance(4 * TTL_MS);
  expect([...newer.polled]).toEqual(["upstream-1"]);
  expect([...staying.polled].toSorted()).toEqual(["upstream-0", "upstream-2"]);
  // The older one is told nothing by whom its own config is newer than.
  await world.clock.advance(4 * TTL_MS);
  expect([...newer.polled]).toEqual(["upstream-1"]);
});

test("a replica whose wall clock is wrong says so", async () => {
  const world = worldOf();
  world.begin("a");
  world.begin("b");
  const wrong = world.begin("c", { wallAheadMs: 40_000 });
  await world.clock.advance(3 * TTL_MS);
  expect(wrong.membership.clockAheadMs).toBeGreaterThan(39_000);
  expect(wrong.membership.clockAheadMs).toBeLessThan(41_000);
  expect(wrong.logged.join(" ")).toContain("wall clock differs");
});
