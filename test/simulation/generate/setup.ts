import type { Budget, Rate, Upstream } from "../../../src/kernel/config/config.ts";
import { slotsOf } from "../../../src/kernel/schedule/schedule.ts";
import { ALGORITHM_NAMES } from "../../support/algorithms.ts";
import { sampleBudget, sampleSchedule, sampleUpstream } from "../../support/kernel-samples.ts";
import type { Dice } from "./dice.ts";
import type { Account, Credential, Setup } from "../world/scenario.ts";
import { fits } from "../world/setup.ts";

const PERIODS_MS: readonly number[] = [1, 1, 1, 2, 2, 2, 3, 4, 5, 5, 6, 10, 10, 15, 30, 60].map(
  (s) => s * 1_000,
);
const WINDOWS_MS: readonly number[] = [1, 2, 4, 7, 10, 10, 30, 60, 60, 120, 600].map((s) => s * 1_000);
const SHORT_WINDOWS_MS: readonly number[] = [1_000, 2_000, 4_000, 7_000];
const PAUSES_MS: readonly number[] = [20_000, 60_000, 120_000, 300_000];
const CONFIRMS: readonly number[] = [0, 0, 0, 1, 1, 2];
/**
 * `full`: the whole limit, and all of it asked for. `late`: the same, where requests are open for longer than a window.
 * `edge`: the shortest cold start is just about allowed.
 */
export const STYLES = [
  "full",
  "full",
  "late",
  "late",
  "roomy",
  "roomy",
  "edge",
  "edge",
  "one",
  "shared",
] as const;
type Style = (typeof STYLES)[number];
export const DARING_STYLES: readonly Style[] = ["edge", "edge", "late", "late", "full", "one"];

export function credential(id: string, dice: Dice): Credential {
  return {
    id,
    algorithm: dice.pick(ALGORITHM_NAMES),
    windowStartMs: dice.between(0, 600_000),
    clockRate: dice.pick([1, 0.9991, dice.between(0.9991, 1.0009)]),
  };
}

export function setupOf(ids: readonly string[], styles: readonly Style[], dice: Dice): Setup {
  const drawn = ids.map((id, index) => drawAccount(id, `b${index + 1}`, styles, dice.fork(id)));
  const setup = {
    accounts: drawn.map(({ account }) => account),
    upstreams: drawn.flatMap(({ upstreams }) => upstreams),
  };
  return withSeveralBudgets(setup, dice.fork("several budgets"));
}

/** Some upstreams draw on the budget of another account too, which then allows as much more as they may ask for. */
function withSeveralBudgets(setup: Setup, dice: Dice): Setup {
  if (setup.accounts.length < 2 || dice.chance(0.4)) return setup;
  const upstreams = setup.upstreams.map((upstream) => drawingOnAnother(upstream, setup, dice));
  const accounts = setup.accounts.map(({ credential, budget }) => {
    const newcomers = upstreams.filter(({ budgets }, index) => {
      const had = setup.upstreams[index]?.budgets ?? [];
      return budgets.includes(budget.name) && !had.includes(budget.name);
    });
    if (newcomers.length === 0) return { credential, budget };
    const rates = budget.rates.map((rate) => ({
      ...rate,
      requests: rate.requests + rateFor(newcomers, rate.perMs, budget.share, 0).requests,
    }));
    return { credential, budget: { ...budget, rates } };
  });
  const shared = { accounts, upstreams };
  return fits(shared) ? shared : setup;
}

/** Half of them, in either order. */
function drawingOnAnother(upstream: Upstream, { accounts }: Setup, dice: Dice): Upstream {
  const others = accounts.map(({ budget }) => budget.name).filter((name) => !upstream.budgets.includes(name));
  if (others.length === 0 || dice.chance(0.5)) return upstream;
  const budgets = [...upstream.budgets, dice.pick(others)];
  return { ...upstream, budgets: dice.chance(0.5) ? budgets : budgets.toReversed() };
}

export type DrawnAccount = { readonly account: Account; readonly upstreams: readonly Upstream[] };

export function drawAccount(
  id: string,
  budgetName: string,
  styles: readonly Style[],
  dice: Dice,
): DrawnAccount {
  const style = dice.pick(styles);
  const count = style === "one" ? 1 : dice.whole(1, style === "shared" ? 10 : 5);
  const confirms = style === "edge" ? [0] : CONFIRMS;
  const drawn = Array.from({ length: count }, (_, index) => ({
    ...drawUpstream(`${id}-${index + 1}`, budgetName, dice),
    confirm: dice.pick(confirms),
  }));
  const perMs = dice.pick(style === "late" ? SHORT_WINDOWS_MS : WINDOWS_MS);
  const lingerMs = dice.pick(style === "late" ? [1_000, 2_000, 5_000] : [0, 0, 0, 500, 2_000]);
  const budget = sampleBudget({
    name: budgetName,
    lingerMs,
    maxPauseMs: dice.pick(PAUSES_MS),
    yieldBelow: 0.05,
    // It is never used up: but all that is sent must be noted before.
    ...(dice.chance(0.3) && { quota: { most: 1e9, perMs: 3_600_000, onExhaust: "stop" } }),
  });
  if (style === "edge") return edge(id, budget, drawn, perMs, dice);
  if (style === "one") return oneAtATime(id, budget, drawn, dice);
  const isFull = style === "full" || style === "late";
  const share = isFull ? 1 : dice.pick([0.01, 0.05, 0.2, 0.33, 0.5, 0.8, 0.95]);
  const rates = [rateFor(drawn, perMs, share, isFull ? 0 : dice.whole(0, 10))];
  if (dice.chance(0.3)) rates.push(secondRate(drawn, perMs, share, dice));
  return { account: { credential: id, budget: { ...budget, share, rates } }, upstreams: drawn };
}

export function drawUpstream(name: string, budget: string, dice: Dice): Upstream {
  const fullName = dice.chance(0.1) ? `${name}t` : name;
  const periodMs = dice.pick(PERIODS_MS);
  const timeoutMs = Math.min(10_000, Math.round(periodMs * dice.pick([0.1, 0.2, 0.5, 0.9, 1, 1.4])));
  const schedule = sampleSchedule(periodMs, fullName);
  return sampleUpstream({
    name: fullName,
    budgets: [budget],
    schedule,
    timeoutMs,
    confirm: dice.pick(CONFIRMS),
  });
}

/** As little as the proof accepts, and `spare` more. */
export function rateFor(upstreams: readonly Upstream[], perMs: number, share: number, spare: number): Rate {
  const demand = upstreams.reduce(
    (sum, { schedule, confirm }) => sum + slotsOf(schedule).mostWithin(perMs) * (1 + confirm),
    0,
  );
  return { requests: Math.ceil((Math.max(1, demand) + spare) / share - 1e-9), perMs, label: `${perMs}ms` };
}

function secondRate(upstreams: readonly Upstream[], firstMs: number, share: number, dice: Dice): Rate {
  const perMs = dice.pick(WINDOWS_MS.filter((windowMs) => windowMs !== firstMs));
  return rateFor(upstreams, perMs, share, dice.whole(0, 5));
}

/** Whole pace gaps of timeout and linger, so that the limit and what is sent in the worst case are the same number. */
function edge(
  id: string,
  budget: Budget,
  drawn: readonly Upstream[],
  perMs: number,
  dice: Dice,
): DrawnAccount {
  const cap = rateFor(drawn, perMs, 1, 0).requests;
  const gapMs = perMs / cap;
  const gaps = dice.pick([1, 1, 2, 3]);
  const timeoutGaps = gaps * dice.pick([0.25, 0.5, 0.5, 1]);
  const lingerGaps = gaps - timeoutGaps;
  const requests = cap + gaps + dice.pick([0, 0, 1, 2]);
  const upstreams = drawn.map((upstream) => ({ ...upstream, timeoutMs: gapMs * timeoutGaps }));
  const rates = [{ requests, perMs, label: `${perMs}ms` }];
  const account = {
    credential: id,
    budget: { ...budget, share: cap / requests, lingerMs: gapMs * lingerGaps, rates },
  };
  return { account, upstreams };
}

/** What an owner means who allows no bursts at all: one request, and nothing until its share of time is over. */
function oneAtATime(id: string, budget: Budget, drawn: readonly Upstream[], dice: Dice): DrawnAccount {
  const upstreams = drawn.map((upstream) => ({ ...upstream, confirm: 0 }));
  const periodMs = upstreams[0]?.schedule.longestGapMs ?? 1_000;
  const perMs = periodMs / dice.pick([1, 1, 2, 4]);
  const rates = [{ requests: 1, perMs, label: `${perMs}ms` }];
  return { account: { credential: id, budget: { ...budget, share: 1, rates } }, upstreams };
}
