import { capOf, type Upstream } from "../../../../src/core/config/config.ts";
import { ofPart } from "../../../../src/core/budget/part.ts";
import { vantagesOf } from "../../../../src/core/fleet/parts.ts";
import { cronOf } from "../../../../src/core/schedule/schedule.ts";
import { ALGORITHM_NAMES } from "../../../support/algorithms.ts";
import { sampleBudget, sampleSchedule, sampleUpstream } from "../../../support/samples.ts";
import type { Dice } from "../../generate/dice.ts";
import { drawingOnAnother } from "../../generate/setup.ts";
import type { Account, Credential, Setup } from "../../world/scenario.ts";
import type { FleetStyle, FleetTerms } from "../scenario.ts";

const PERIODS_MS: readonly number[] = [1, 2, 2, 3, 5, 5, 10, 15].map((s) => s * 1_000);
const WINDOWS_MS: readonly number[] = [2, 4, 7, 10, 10, 30, 60].map((s) => s * 1_000);
const PAUSES_MS: readonly number[] = [20_000, 60_000];
/** The clocks of the store, of the replicas and of the owners may differ by a thousandth altogether. */
const DRIFT = 0.0003;

export function drawRate(dice: Dice): number {
  return dice.pick([1, 1, 1 + DRIFT, 1 - DRIFT, dice.between(1 - DRIFT, 1 + DRIFT)]);
}

export function drawCredential(id: string, dice: Dice): Credential {
  const windowStartMs = dice.between(0, 600_000);
  return { id, algorithm: dice.pick(ALGORITHM_NAMES), windowStartMs, clockRate: drawRate(dice) };
}

type Room = {
  readonly style: FleetStyle;
  /** Of what is asked for there is so much, where there is not enough. */
  readonly scarcity: readonly [least: number, most: number];
  readonly wayMs: number;
  readonly shares: readonly number[];
};

export function drawFleetSetup(ids: readonly string[], fleet: FleetTerms, room: Room, dice: Dice): Setup {
  const drawn = ids.map((id, index) => drawAccount(id, `b${index + 1}`, fleet, room, dice.fork(id)));
  const setup = {
    accounts: drawn.map(({ account }) => account),
    upstreams: drawn.flatMap(({ upstreams }) => upstreams),
  };
  const several = dice.fork("several budgets");
  if (several.chance(0.4)) return setup;
  const upstreams = setup.upstreams.map((upstream) => drawingOnAnother(upstream, setup, several));
  const accounts = drawn.map(({ account, allowing }) =>
    allowing(upstreams.filter(({ budgets }) => budgets.includes(account.budget.name))),
  );
  return { accounts, upstreams };
}

type Drawn = {
  readonly account: Account;
  readonly upstreams: readonly Upstream[];
  /** The same, if these draw on it. */
  readonly allowing: (drawers: readonly Upstream[]) => Account;
};

function drawAccount(
  id: string,
  budgetName: string,
  fleet: FleetTerms,
  { style, scarcity, wayMs, shares }: Room,
  dice: Dice,
): Drawn {
  const count = dice.pick([1, 2, 3, 5, 8]);
  const upstreams = Array.from({ length: count }, (_, index) =>
    drawUpstream(`${id}-${index + 1}`, budgetName, dice),
  );
  const budget = sampleBudget({
    name: budgetName,
    share: dice.pick(shares),
    lingerMs: dice.pick([0, 0, 500, 2_000]),
    maxPauseMs: dice.pick(PAUSES_MS),
    yieldBelow: 0.05,
  });
  const windows = dice.chance(0.3) ? [dice.pick(WINDOWS_MS), dice.pick(WINDOWS_MS)] : [dice.pick(WINDOWS_MS)];
  const part = style === "greedy" ? dice.between(...scarcity) : 1;
  const allowing = (drawers: readonly Upstream[]): Account => {
    const demands = [...new Set(windows)].map((perMs) => {
      const demand = demandOf(drawers, perMs);
      return {
        perMs,
        demand: style === "roomy" ? roomyDemand(demand, perMs, wayMs) : Math.ceil(part * demand),
      };
    });
    for (let more = 0; ; more += 1) {
      const rates = demands.map(({ perMs, demand }) => ({
        requests: Math.ceil((demand + more) / budget.share - 1e-9),
        perMs,
        label: `${perMs}ms`,
      }));
      const isEnough = rates.every((rate, index) => {
        const part = ofPart(capOf(rate, budget.share), 1 / vantagesOf(fleet));
        return style === "greedy" ? part >= 1 : part >= (demands[index]?.demand ?? 0);
      });
      if (isEnough) return { credential: id, budget: { ...budget, rates } };
    }
  };
  return { account: allowing(upstreams), upstreams, allowing };
}

/** A lease turns around more slowly than its window lasts, and each gap between two is longer by a way to the store. */
function roomyDemand(demand: number, perMs: number, wayMs: number): number {
  const gapMs = perMs / ((demand * (perMs + 3 * wayMs + 100)) / perMs);
  return Math.ceil(perMs / Math.max(gapMs / 3, gapMs - 2 * wayMs - 5)) + 1;
}

function drawUpstream(name: string, budget: string, dice: Dice): Upstream {
  const periodMs = dice.pick(PERIODS_MS);
  return sampleUpstream({
    name,
    budgets: [budget],
    schedule: sampleSchedule(periodMs, name),
    timeoutMs: Math.min(10_000, Math.round(periodMs * dice.pick([0.2, 0.5, 0.9, 1]))),
    confirm: dice.pick([0, 0, 1]),
  });
}

function demandOf(upstreams: readonly Upstream[], perMs: number): number {
  return upstreams.reduce(
    (sum, { schedule, confirm }) => sum + cronOf(schedule).mostWithin(perMs) * (1 + confirm),
    0,
  );
}
