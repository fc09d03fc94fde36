import type { Config } from "../../../src/core/config/config.ts";
import type { LedgerStore } from "../../../src/core/fleet/ledger-store.ts";
import type { ViolationKind } from "../judge/violation.ts";
import type { FleetBias } from "./generate/generate.ts";
import type { FleetMutation } from "./mutation.ts";
import { warmBoard, warmBudget } from "./store/mutant-memories.ts";
import { openMemory } from "./store/memory.ts";

export type FleetMutant = FleetMutation & {
  readonly caughtAs: readonly ViolationKind[];
  readonly bias: FleetBias;
};

/** The cap is shared by all as if nothing had been set aside, and everybody has a reserve beside it. */
function withoutSettingAside(store: LedgerStore): LedgerStore {
  return {
    ...store,
    take: (terms, lease) => {
      const whole = terms.map((each) => ({
        ...each,
        rates: each.rates.map((rate) => ({ ...rate, cap: rate.cap + rate.aside })),
      }));
      return store.take(whole, lease);
    },
  };
}

export const FLEET_MUTANTS: readonly FleetMutant[] = [
  {
    name: "a lease is settled at the sending",
    bias: { tempers: ["everything"] },
    caughtAs: ["limit"],
    wrapStore: (store) => ({
      ...store,
      take: async (terms, lease) => {
        const stored = await store.take(terms, lease);
        if (stored.kind === "answered" && stored.answer.waits.length === 0) {
          const settled = { kind: "settled", lease, settlement: "answered", heldMs: 0, agoMs: 0 } as const;
          for (const each of terms) await store.report(each, [settled]);
        }
        return stored;
      },
      report: (terms, messages) =>
        store.report(
          terms,
          messages.filter(({ kind }) => kind !== "settled"),
        ),
    }),
  },
  {
    name: "a store that was emptied grants at once",
    bias: { tempers: ["emptied"] },
    caughtAs: ["limit"],
    openMemory: () => ({ ...openMemory(), newBudget: warmBudget }),
  },
  {
    name: "the reserve is not set aside",
    bias: { tempers: ["store-away", "cut-off"], reserves: [0.2, 0.5], style: "greedy" },
    caughtAs: ["limit"],
    wrapStore: withoutSettingAside,
  },
  {
    name: "everybody has the same reserve, seat or not",
    bias: { tempers: ["store-away", "ambushed"], mode: "everywhere", reserves: [0.2, 0.5], style: "greedy" },
    caughtAs: ["limit"],
    tellLedger: (config) => withFleet(config, { replicas: 1 }),
    wrapStore: (store) => ({ ...store, takeSeat: () => Promise.resolve({ kind: "answered", answer: 1 }) }),
  },
  {
    name: "a lease can be used for ever",
    bias: {
      tempers: ["frozen"],
      mode: "everywhere",
      reserves: [0],
      style: "greedy",
      shares: [1],
      isStrict: true,
    },
    caughtAs: ["limit"],
    wrapProbe: (probe) => ({ poll: (signal) => probe.poll(signal), close: () => probe.close() }),
  },
  {
    name: "a session is believed in for longer than it lasts",
    bias: { tempers: ["cut-off", "stalling"] },
    caughtAs: ["twice"],
    believesInTtls: 3,
    wrapBoard: (board, ttlMs) => ({
      ...board,
      beat: (request) => board.beat({ ...request, ttlMs }),
      claim: (request) => board.claim({ ...request, ttlMs }),
      release: (request) => board.release({ ...request, ttlMs }),
    }),
  },
  {
    name: "claims are accepted at once by a board that was emptied",
    bias: { tempers: ["emptied"] },
    caughtAs: ["twice"],
    openMemory: () => ({ ...openMemory(), board: warmBoard() }),
  },
];

function withFleet(config: Config, changes: Partial<NonNullable<Config["fleet"]>>): Config {
  return config.fleet === undefined ? config : { ...config, fleet: { ...config.fleet, ...changes } };
}
