import { readAdvice, type Advice } from "../../core/advice/advice.ts";
import type { ParseList } from "../../core/advice/reading.ts";
import { classify } from "../../core/poll/classify.ts";
import type { Upstream } from "../../core/config/config.ts";
import { excerptOf } from "../../core/exchange/excerpt.ts";
import type { Observation } from "../../core/exchange/exchange.ts";
import type { PollOutcome } from "../../core/exchange/outcome.ts";
import type { Poll, SlotOrigin } from "../../core/poll/poll.ts";

const EXCERPT_CHARACTERS = 300;

/** When a poll was asked for, sent and over. Wall clock. */
export type PollTimes = {
  readonly id: string;
  readonly origin: SlotOrigin;
  readonly slotAtMs: number;
  readonly sentAtMs: number;
  readonly endedAtMs: number;
  readonly delayMs: number;
};

export type Judgement = { readonly poll: Poll; readonly advice: Advice | undefined };

/** From what a probe met to what it means for this upstream. */
export function judge(
  upstream: Upstream,
  observation: Observation,
  times: PollTimes,
  parseList: ParseList,
): Judgement {
  const { exchange, durationMs } = observation;
  const advice =
    exchange.head === undefined ? undefined : readAdvice(exchange.head, times.endedAtMs, parseList);
  const { outcome, detail } = classify(exchange, upstream.expect, advice);
  const isOk = outcome.kind === "ok";
  const slowMs = upstream.degradedAboveMs;
  const poll: Poll = {
    ...times,
    durationMs,
    phasesMs: observation.phasesMs,
    reusedConnection: observation.reusedConnection,
    outcome,
    degraded: isOk && slowMs !== undefined && durationMs > slowMs,
    withinObjective: isOk && durationMs <= upstream.objective.latencyMs,
    detail,
    head: exchange.head,
    excerpt: isOk ? undefined : excerptOf(exchange, EXCERPT_CHARACTERS),
    certificateExpiresAtMs: observation.certificateExpiresAtMs,
    malformedSignals: advice?.malformed ?? 0,
  };
  return { poll, advice };
}

/** A poll that ended without an observation worth judging: our own bug, or cut off by our own shutdown. */
export function judgeUnobserved(times: PollTimes, durationMs: number, detail: string): Poll {
  const outcome: PollOutcome = { kind: "failed", reason: "internal" };
  return {
    ...times,
    durationMs,
    phasesMs: {},
    reusedConnection: false,
    outcome,
    degraded: false,
    withinObjective: false,
    detail,
    head: undefined,
    excerpt: undefined,
    certificateExpiresAtMs: undefined,
    malformedSignals: 0,
  };
}
