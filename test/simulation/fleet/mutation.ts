import type { Config } from "../../../src/core/config/config.ts";
import type { FleetBoard } from "../../../src/core/fleet/board.ts";
import type { Probe } from "../../../src/core/poll/ports.ts";
import type { StoreMemory } from "./store/memory.ts";

/** A fault built into every replica or into the store, to see whether the simulation notices. */
export type FleetMutation = {
  readonly name: string;
  /** What its ledger is told that the config says. */
  readonly tellLedger?: (config: Config) => Config;
  readonly wrapProbe?: (probe: Probe) => Probe;
  readonly wrapBoard?: (board: FleetBoard, ttlMs: number) => FleetBoard;
  /** For how many times its time a replica believes in its session. */
  readonly believesInTtls?: number;
  readonly openMemory?: () => StoreMemory;
};

export const UNCHANGED_FLEET: FleetMutation = { name: "unchanged" };
