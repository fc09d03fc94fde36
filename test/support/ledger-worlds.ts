import { LocalLedger } from "../../src/core/budget/local-ledger.ts";
import type { RunningLedger } from "../../src/core/budget/ledger.ts";
import { Quotas } from "../../src/core/budget/quotas.ts";
import type { Config } from "../../src/core/config/config.ts";
import { Holdings } from "../../src/core/fleet/holdings.ts";
import { momentOf } from "../../src/core/time/moment.ts";
import { FleetLedger } from "../../src/engine/fleet/fleet-ledger.ts";
import { VirtualBoards } from "./fleet-world.ts";
import { sampleFleet } from "./samples.ts";
import { VirtualClock } from "./virtual/clock.ts";

/** A ledger of some kind, and time that passes only when told to. */
export type LedgerWorld = AsyncDisposable & {
  readonly clock: VirtualClock;
  readonly ledger: RunningLedger;
  advance(ms: number): Promise<void>;
};

export type OpenWorld = (config: Config) => Promise<LedgerWorld>;

export function localWorld(config: Config): Promise<LedgerWorld> {
  const clock = new VirtualClock();
  return Promise.resolve(worldOf(clock, new LocalLedger(config, clock)));
}

/** A replica that holds all budgets, in a session that does not end. */
export function holderOf(config: Config): {
  readonly clock: VirtualClock;
  readonly holdings: Holdings;
  readonly ledger: FleetLedger;
} {
  const clock = new VirtualClock();
  const holdings = new Holdings({ name: "one", boot: "boot", ttlMs: Infinity }, clock);
  holdings.renew(momentOf(clock));
  const ledger = new FleetLedger(config, {
    fleet: sampleFleet(),
    board: new VirtualBoards(clock).boardFor(() => false),
    holdings,
    clock,
    quotas: new Quotas(clock),
    onBug: (error) => {
      throw error;
    },
  });
  for (const { name } of config.budgets) holdings.claimed.add(`b:${name}`);
  return { clock, holdings, ledger };
}

export function holderWorld(config: Config): Promise<LedgerWorld> {
  const { clock, holdings, ledger } = holderOf(config);
  for (const { name } of config.budgets) ledger.begin(name, ledger.claimOf(name).coldMs, undefined);
  return Promise.resolve(worldOf(clock, claiming(ledger, holdings)));
}

/** What a reload adds is held at once too. */
function claiming(ledger: FleetLedger, holdings: Holdings): RunningLedger {
  const change = ledger.change.bind(ledger);
  ledger.change = (config) => {
    change(config);
    for (const { name } of config.budgets) holdings.claimed.add(`b:${name}`);
  };
  return ledger;
}

function worldOf(clock: VirtualClock, ledger: RunningLedger): LedgerWorld {
  return {
    clock,
    ledger,
    advance: (ms) => clock.advance(ms),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
