import type { FleetBoard } from "../../../src/core/fleet/board.ts";
import type { Upstream } from "../../../src/core/config/config.ts";
import { sampleBudget, sampleSchedule, sampleUpstream } from "../../support/samples.ts";
import { FleetWorld } from "./world.ts";
import type { FleetScenario } from "./scenario.ts";

const SECOND_MS = 1_000;
const BUDGETS = 20;
const PERIOD_MS = 15_000;
const WINDOW_MS = 60_000;
const TTL_MS = 10_000;
/** When nothing of the cold start is left. */
const [COUNT_FROM_MS, COUNT_FOR_MS] = [120_000, 50_000];
const [DEATH_MS, BACK_AFTER_MS, END_MS] = [180_000, 120_000, 480_000];

/** One large fleet, a death in it, and a return, in numbers: for what is said of the scale of one. */
export async function runLargeFleet(replicas: number, upstreams: number): Promise<readonly string[]> {
  const counts = { board: 0 };
  const world = new FleetWorld(largeScenario(replicas, upstreams), { watchBoard: counting(counts) });
  const lines: string[] = [`${replicas} replicas, ${upstreams} upstreams every ${PERIOD_MS / SECOND_MS} s`];
  const seconds = (ms: number): string => `${(ms / SECOND_MS).toFixed(1)} s`;
  const heldNow = (): number => sum(world.living.map(({ polling }) => polling.held.size));
  const noteOnce = (fromMs: number, isSo: () => boolean, what: string): void => {
    const look = (): void => {
      if (isSo()) lines.push(`${what} ${seconds(world.clock.now() - fromMs)}`);
      else world.clock.after(100, look);
    };
    world.clock.after(fromMs - world.clock.now() + 1, look);
  };
  const gains = (): number => sum(world.living.map(({ membership }) => membership.ownership.moves.gained));
  const skipped = (): number =>
    sum(world.lives.flatMap(({ tallies }) => [...tallies.values()].map((tally) => tally.skipped)));
  noteOnce(0, () => heldNow() === upstreams, "all were held after");
  world.clock.after(COUNT_FROM_MS, () => {
    const before = {
      ...counts,
      polls: world.traffic.requests,
      steps: world.server.steps,
      skipped: skipped(),
    };
    lines.push(`held then: ${balance(world.living.map(({ polling }) => polling.held.size))}`);
    world.clock.after(COUNT_FOR_MS, () => {
      const each = (now: number, then: number): string =>
        ((now - then) / (COUNT_FOR_MS / SECOND_MS)).toFixed(1);
      lines.push(
        `a second: ${each(world.traffic.requests, before.polls)} polls, ${each(skipped(), before.skipped)} slots skipped, ${each(world.server.steps, before.steps)} calls of the store, of them ${each(counts.board, before.board)} beats, claims and releases`,
      );
    });
  });
  world.clock.after(DEATH_MS - 1, () => {
    const [before, dead] = [gains(), world.living[0]];
    const lost = [...(dead?.polling.held ?? [])];
    const deadGains = dead?.membership.ownership.moves.gained ?? 0;
    noteOnce(
      DEATH_MS,
      () => heldNow() === upstreams,
      `${lost.length} upstreams of a dead replica were held again after`,
    );
    noteOnce(
      DEATH_MS,
      () => lost.every((name) => lastOkMs(world, name) > DEATH_MS),
      "and all of them polled again after",
    );
    world.clock.after(BACK_AFTER_MS, () => {
      const [moved, most] = [gains() - (before - deadGains), gains()];
      lines.push(
        `moves at the death: ${moved}; held then: ${balance(world.living.map(({ polling }) => polling.held.size))}`,
      );
      world.clock.after(60_000, () => {
        lines.push(
          `moves at its return: ${gains() - most}; held then: ${balance(world.living.map(({ polling }) => polling.held.size))}`,
        );
      });
    });
  });
  await world.run();
  lines.push(
    `${world.traffic.requests} polls in ${seconds(world.clock.now())}, ${world.violation === undefined ? "no violation" : world.violation.text}`,
  );
  return lines;
}

function largeScenario(replicas: number, upstreams: number): FleetScenario {
  const fleet = { mode: "shard", replicas, reserve: 0, ttlMs: TTL_MS } as const;
  const perBudget = Math.ceil(upstreams / BUDGETS);
  const keys = Array.from({ length: BUDGETS }, (_, index) => `K${index + 1}`);
  const demand = perBudget * (WINDOW_MS / PERIOD_MS);
  return {
    seed: "large",
    fleet,
    running: replicas,
    credentials: keys.map((id) => ({ id, algorithm: "sliding_log", windowStartMs: 0, clockRate: 1 })),
    setup: {
      accounts: keys.map((credential, index) => ({
        credential,
        budget: sampleBudget({
          name: `b${index}`,
          rates: [{ requests: Math.ceil(1.5 * demand), perMs: WINDOW_MS, label: "1m" }],
          maxPauseMs: PERIOD_MS,
        }),
      })),
      upstreams: Array.from({ length: upstreams }, (_, index) =>
        upstream(`u${index}`, `b${index % BUDGETS}`),
      ),
    },
    roads: new Map(),
    lagMs: 0,
    wayMs: 1,
    style: "roomy",
    storeRate: 1,
    happenings: [
      {
        kind: "crash",
        atMs: DEATH_MS,
        replica: 0,
        downMs: BACK_AFTER_MS,
        takesTheMachine: true,
        comesBackRenamed: false,
      },
    ],
    lengthMs: END_MS,
  };
}

function upstream(name: string, budget: string): Upstream {
  return sampleUpstream({
    name,
    budgets: [budget],
    schedule: sampleSchedule(PERIOD_MS, name),
    timeoutMs: 5_000,
    confirm: 0,
  });
}

function counting(counts: { board: number }): (board: FleetBoard) => FleetBoard {
  return (board) => ({
    ...board,
    beat: (request) => ((counts.board += 1), board.beat(request)),
    claim: (request) => ((counts.board += 1), board.claim(request)),
    release: (request) => ((counts.board += 1), board.release(request)),
  });
}

function lastOkMs(world: FleetWorld, name: string): number {
  return Math.max(0, ...world.living.map(({ tallies }) => tallies.get(name)?.lastOkAtMs ?? 0));
}

function balance(held: readonly number[]): string {
  const even = sum(held) / held.length;
  return `${Math.min(...held)} to ${Math.max(...held)} each, ${even.toFixed(1)} on average`;
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
