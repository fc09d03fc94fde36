import { coldStartOfBudget } from "../../src/kernel/budget/cold-start.ts";
import { uncountedMsOf } from "../../src/kernel/budget/needs.ts";
import type { Config } from "../../src/kernel/config/config.ts";
import { TestLedger } from "./test-ledger.ts";
import { VirtualClock } from "./virtual/clock.ts";

/** A ledger of some kind, and time that passes only when told to. */
export type LedgerWorld = AsyncDisposable & {
  readonly clock: VirtualClock;
  readonly ledger: TestLedger;
  advance(ms: number): Promise<void>;
};

export type OpenWorld = (config: Config) => Promise<LedgerWorld>;

export function localWorld(config: Config): Promise<LedgerWorld> {
  const clock = new VirtualClock();
  return Promise.resolve(worldOf(clock, new TestLedger(config, clock)));
}

/** A leader that may send, and has nothing to wait for but its own cold start. */
export function leaderWorld(config: Config): Promise<LedgerWorld> {
  const clock = new VirtualClock();
  const startsAtMs = (name: string): number => {
    const budget = config.budgets.find((each) => each.name === name);
    const own = config.upstreams.filter(({ budgets }) => budgets.includes(name));
    return budget === undefined
      ? 0
      : clock.now() + coldStartOfBudget(budget, uncountedMsOf(own, [budget])).coldMs;
  };
  const right = { startsAtMs, maySend: () => true };
  return Promise.resolve(worldOf(clock, new TestLedger(config, clock, { right })));
}

function worldOf(clock: VirtualClock, ledger: TestLedger): LedgerWorld {
  return {
    clock,
    ledger,
    advance: (ms) => clock.advance(ms),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
