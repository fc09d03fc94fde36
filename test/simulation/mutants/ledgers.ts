import type { Budget, Config } from "../../../src/core/config/config.ts";
import { LocalLedger } from "../../../src/core/budget/local-ledger.ts";
import type { Ledger, Lease, Settlement } from "../../../src/core/budget/ledger.ts";
import type { Clock } from "../../../src/core/time/clock.ts";
import type { ReloadableLedger } from "./mutation.ts";

/** Ledgers with one fault each, built around the real one. */

type Opening = (config: Config, clock: Clock) => ReloadableLedger;

const LONG_AGO_MS = 86_400_000;

/** The real ledger with its leases in other hands. */
export function withLeases(mutate: (lease: Lease) => Lease): Opening {
  return (config, clock) => {
    const real = new LocalLedger(config, clock);
    return delegating(real, {
      take: (budgets) => {
        const decision = real.take(budgets);
        return decision.kind === "granted" ? { kind: "granted", lease: mutate(decision.lease) } : decision;
      },
    });
  };
}

export function settlingAs(replace: (settlement: Settlement) => Settlement): (lease: Lease) => Lease {
  return (lease) => ({
    ...lease,
    settle: (settlement) => lease.settle(replace(settlement)),
  });
}

/** The real ledger that was told something else than the config says. */
export function withBudgets(mutate: (budget: Budget) => Budget): Opening {
  return (config, clock) => {
    const told = (each: Config): Config => ({
      ...each,
      budgets: each.budgets.map((budget) => mutate(budget)),
    });
    const real = new LocalLedger(told(config), clock);
    return delegating(real, { change: (next) => real.change(told(next)) });
  };
}

function delegating(real: LocalLedger, changes: Partial<ReloadableLedger>): ReloadableLedger {
  return {
    take: (budgets) => real.take(budgets),
    restraint: (budgets) => real.restraint(budgets),
    applyAdvice: (budgets, advice) => real.applyAdvice(budgets, advice),
    onChange: (listener) => real.onChange(listener),
    change: (config) => real.change(config),
    ...changes,
  };
}

/** A clock that can be made to say that it is long ago: whoever waits from then on has waited enough. */
function forgetful(clock: Clock): Clock & { forget(during: () => void): void } {
  let shiftMs = 0;
  return {
    now: () => clock.now() - shiftMs,
    wallNow: () => clock.wallNow(),
    sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
    forget: (during) => {
      shiftMs = LONG_AGO_MS;
      during();
      shiftMs = 0;
    },
  };
}

export function withoutColdStart(config: Config, clock: Clock): ReloadableLedger {
  const tricked = forgetful(clock);
  let real: LocalLedger | undefined;
  tricked.forget(() => (real = new LocalLedger(config, tricked)));
  return delegating(real ?? new LocalLedger(config, clock), {});
}

export function freshAfterRenaming(config: Config, clock: Clock): ReloadableLedger {
  const tricked = forgetful(clock);
  const real = new LocalLedger(config, tricked);
  const names = new Set(config.budgets.map(({ name }) => name));
  return delegating(real, {
    change: (next) => {
      const isRenaming = next.budgets.some(({ name }) => !names.has(name));
      for (const { name } of next.budgets) names.add(name);
      if (isRenaming) tricked.forget(() => real.change(next));
      else real.change(next);
    },
  });
}

export function deaf(config: Config, clock: Clock): ReloadableLedger {
  const real = new LocalLedger(config, clock);
  return delegating(real, {
    applyAdvice: (budgets, advice) =>
      real.applyAdvice(budgets, { ...advice, throttled: false, pause: undefined }),
  });
}

/** Grants at once, and only remembers how many it granted since the window of the calendar began. */
export function perCalendarWindow(config: Config, clock: Clock): ReloadableLedger {
  const real = new LocalLedger(config, clock);
  let budgets = config.budgets;
  const windows = new Map<string, { readonly number: number; used: number }>();
  const take: Ledger["take"] = (names) => {
    const name = names[0] ?? "";
    const rate = budgets.find((budget) => budget.name === name)?.rates[0];
    const nowMs = clock.now();
    if (rate === undefined) return real.take(names);
    const number = Math.floor(nowMs / rate.perMs);
    const known = windows.get(name);
    const window = known?.number === number ? known : { number, used: 0 };
    windows.set(name, window);
    window.used += 1;
    if (window.used <= rate.requests)
      return { kind: "granted", lease: { isUsable: () => true, settle: () => {}, charge: () => {} } };
    return { kind: "wait", untilMs: (number + 1) * rate.perMs, cause: "budget", budget: name };
  };
  const change = (next: Config): void => {
    budgets = next.budgets;
    real.change(next);
  };
  return delegating(real, { take, change });
}

export function firstBudgetOnly(config: Config, clock: Clock): ReloadableLedger {
  const real = new LocalLedger(config, clock);
  return delegating(real, { take: (budgets) => real.take(budgets.slice(0, 1)) });
}
