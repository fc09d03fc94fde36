import type { Announcement } from "../answer/announcement.ts";
import type { Cost } from "../config/price.ts";
import type { KeptHead, PhaseTimesMs } from "../exchange/exchange.ts";
import type { StreamMeasures } from "../exchange/stream.ts";
import type { PollOutcome } from "../exchange/outcome.ts";
import type { SeenQuota } from "./quotas.ts";
import type { SeenValue, UnreadableValue } from "./values.ts";

/** Why there is a slot. */
export type SlotOrigin = "schedule" | "confirm" | "first";

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
  /** Absent where no stream began. */
  readonly stream?: StreamMeasures | undefined;
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
  /** The answer announced the end of the API. */
  readonly announcement: Announcement | undefined;
  /** Absent where the upstream has none in the config. */
  readonly values?: readonly SeenValue[];
  readonly unreadable?: readonly UnreadableValue[];
  /** Absent where the answer tells none. */
  readonly quotas?: readonly SeenQuota[];
  /** Absent where it has no price. */
  readonly cost?: Cost | undefined;
  readonly certificateExpiresAtMs: number | undefined;
  /** Rate-limit signals in the answer that could not be read. */
  readonly malformedSignals: number;
};
