import type { Config } from "../../src/core/config.ts";
import type { Clock, Ledger, Probe, Recorder, Triggers } from "../../src/core/ports.ts";

export type ReloadableLedger = Ledger & { change(config: Config): void };

/** A fault built into the process at one of its seams, to see whether the simulation notices. */
export type Mutation = {
  readonly name: string;
  openLedger?(config: Config, clock: Clock): ReloadableLedger;
  wrapProbe?(probe: Probe, clock: Clock): Probe;
  wrapTriggers?(triggers: Triggers): Triggers;
  wrapRecorder?(recorder: Recorder): Recorder;
};

export const UNCHANGED: Mutation = { name: "unchanged" };
