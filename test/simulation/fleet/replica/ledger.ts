import { SharedLedger } from "../../../../src/engine/fleet/shared-ledger.ts";
import type { ReplicaParts } from "./replica.ts";
import { ledgerOver } from "../store/ledger.ts";

/** The ledger of one life of one replica. */
export function openLedger(
  { config, clock, way, name, life, mutation, onEpoch }: ReplicaParts,
  onBug: (error: unknown) => void,
): SharedLedger {
  const { fleet } = config;
  if (fleet === undefined) throw new Error("cannot open a ledger: the config must have a fleet");
  const store = ledgerOver(way, onEpoch);
  const told = mutation.tellLedger?.(config) ?? config;
  return new SharedLedger(told, {
    fleet: told.fleet ?? fleet,
    store: mutation.wrapStore?.(store) ?? store,
    clock,
    life: `${name}.${life}`,
    onBug,
  });
}
