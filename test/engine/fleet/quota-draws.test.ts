import { expect, test } from "vitest";
import type { QuotaCount } from "../../../src/core/budget/quota.ts";
import { Quotas } from "../../../src/core/budget/quotas.ts";
import { QuotaDraws } from "../../../src/engine/fleet/quota-draws.ts";
import { VirtualBoards } from "../../support/fleet-world.ts";
import { sampleBudget, sampleConfig } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const HOUR_MS = 3_600_000;
/** A poll in each half hour may cost 100, and does cost 10. */
const [MOST, COST] = [100, 10];

type Replica = { readonly draws: QuotaDraws; readonly count: QuotaCount };

function openReplica(
  clock: VirtualClock,
  boards: VirtualBoards,
  most: number,
  name = "",
  demand = { perSecond: MOST / 1_800, most: MOST },
): Replica {
  const spend = { most, perMs: 30 * 24 * HOUR_MS, onExhaust: "stop" } as const;
  const quotas = new Quotas(clock);
  quotas.change(sampleConfig({ budgets: [sampleBudget({ spend })] }));
  const draws = new QuotaDraws({
    board: boards.boardFor(() => false),
    quotas,
    ttlMs: 10_000,
    name,
    demandOf: () => demand,
    onBug: (error) => {
      throw error;
    },
  });
  return { draws, count: quotas.of("api", "money") };
}

/** As a replica does it: draws ahead with its beats, and sends where that is drawn. */
async function pollEachHalfHour(
  { draws, count }: Replica,
  clock: VirtualClock,
  polls: number,
): Promise<number> {
  let sent = 0;
  for (let poll = 0; poll < polls; poll += 1) {
    await Promise.all([draws.draw(count), clock.advance(10)]);
    if (draws.isDrawn({ count, units: MOST })) {
      sent += 1;
      count.end(count.send(MOST), COST);
    }
    await clock.advance(HOUR_MS / 2);
  }
  return sent;
}

test("one who polls seldom draws ahead for the dearest poll each time, however little the last one did cost", async () => {
  const clock = new VirtualClock();
  const replica = openReplica(clock, new VirtualBoards(clock), 100_000);
  expect(await pollEachHalfHour(replica, clock, 48)).toBe(48);
});

test("what was drawn for an hour and not used goes back, so that the quota lasts for what polls do cost", async () => {
  const clock = new VirtualClock();
  const boards = new VirtualBoards(clock);
  const most = 1_000;
  const sent = await pollEachHalfHour(openReplica(clock, boards, most), clock, 200);
  // The last ones find less left than what one may cost, or what is drawn for this hour and the next.
  expect(sent * COST).toBeGreaterThan(most - 4 * MOST);
  expect(sent * COST).toBeLessThanOrEqual(most);
  const next = openReplica(clock, boards, most);
  await Promise.all([next.draws.draw(next.count), clock.advance(10)]);
  expect(next.count.used).toBeGreaterThanOrEqual(sent * COST);
});

test("where each replica has a part, used is what all have drawn; where one holds the budget, what it has sent", async () => {
  const clock = new VirtualClock();
  for (const [names, used] of [
    // Each has drawn for the dearest poll and for what two ttl ask for.
    [["a", "b"], 2 * (MOST + 2) + COST],
    [[""], COST],
  ] as const) {
    const boards = new VirtualBoards(clock);
    const replicas = names.map((name) => openReplica(clock, boards, 100_000, name));
    for (const { draws, count } of replicas) await Promise.all([draws.draw(count), clock.advance(10)]);
    const [first] = replicas;
    first?.count.end(first.count.send(MOST), COST);
    for (const { draws, count } of replicas) await Promise.all([draws.draw(count), clock.advance(10)]);
    expect(first?.draws.usedOf(first.count)).toBe(used);
    expect(first?.draws.usedOf(new Quotas(clock).of("nobody", "money"))).toBeUndefined();
  }
});

test("whatever is polled between two beats was drawn before it, and not with each beat anew", async () => {
  const clock = new VirtualClock();
  const boards = new VirtualBoards(clock);
  const { draws, count } = openReplica(clock, boards, 1_000_000, "", { perSecond: 10, most: 1 });
  for (let beat = 0; beat < 100; beat += 1) {
    await Promise.all([draws.draw(count), clock.advance(2_000)]);
    for (let poll = 0; poll < 20; poll += 1) {
      expect(draws.isDrawn({ count, units: 1 })).toBe(true);
      count.end(count.send(1), 1);
    }
  }
  expect(boards.calls).toBeLessThan(30);
});

test("a quota is used up to its last request", async () => {
  const clock = new VirtualClock();
  const { draws, count } = openReplica(clock, new VirtualBoards(clock), 5, "", { perSecond: 0, most: 1 });
  let sent = 0;
  for (let beat = 0; beat < 10; beat += 1) {
    await Promise.all([draws.draw(count), clock.advance(2_000)]);
    if (!draws.isDrawn({ count, units: 1 })) continue;
    count.end(count.send(1), 1);
    sent += 1;
  }
  expect(sent).toBe(5);
  expect(draws.isSpent({ count, units: 1 })).toBe(true);
});

test("however many want more of a quota at once, the board is asked for them all together", async () => {
  const callsOf = async (askers: number): Promise<number> => {
    const clock = new VirtualClock();
    const boards = new VirtualBoards(clock);
    const { draws, count } = openReplica(clock, boards, 1_000);
    const asked = Array.from({ length: askers }, () => draws.draw(count));
    await Promise.all([...asked, clock.advance(10)]);
    expect(draws.isDrawn({ count, units: MOST })).toBe(true);
    return boards.calls;
  };
  expect(await callsOf(5)).toBe(await callsOf(1));
});
