import type { KeptHead, PhaseTimesMs } from "../exchange/exchange.ts";
import type { PollOutcome } from "../exchange/outcome.ts";
import type { Fields } from "../text/field.ts";

/** Why there is a slot. */
export type SlotOrigin = "schedule" | "confirm" | "again" | "first";

/** One finished poll, judged: for metrics, history, page and log. Wall-clock times in milliseconds. */
export type Poll = {
  readonly id: string;
  readonly origin: SlotOrigin;
  readonly sentAtMs: number;
  readonly endedAtMs: number;
  /** From the slot to the sending. */
  readonly delayMs: number;
  /** Between most slots of the schedule that it was sent by. */
  readonly usualGapMs: number;
  readonly durationMs: number;
  readonly phasesMs: PhaseTimesMs;
  readonly outcome: PollOutcome;
  /** ok, but slower than `degraded_above`. */
  readonly degraded: boolean;
  /** ok, and at or under the latency objective. */
  readonly withinObjective: boolean;
  /** One sentence for people: escaped, capped, free of secrets. */
  readonly detail: string;
  /** An ok answer keeps its status only. */
  readonly head: KeptHead | undefined;
  readonly excerpt: string | undefined;
  /** The answer says more: each field is one reader's. */
  readonly said?: Fields | undefined;
  readonly certificateExpiresAtMs: number | undefined;
};
