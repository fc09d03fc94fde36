import type { Config } from "../../../src/core/config/config.ts";
import type { Ledger } from "../../../src/core/budget/ledger.ts";
import type { Triggers } from "../../../src/core/schedule/triggers.ts";
import type { Probe, Recorder } from "../../../src/core/poll/ports.ts";
import type { Clock } from "../../../src/core/time/clock.ts";

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
