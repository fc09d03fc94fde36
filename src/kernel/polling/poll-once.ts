import type { Upstream } from "../config/config.ts";
import type { Observation } from "../exchange/exchange.ts";
import type { Poll, SlotOrigin } from "../poll/poll.ts";
import { type Ask, settlementOf, type Lease } from "../budget/ledger.ts";
import type { Ending, Gate, Probe } from "../poll/ports.ts";
import type { Clock } from "../time/clock.ts";
import { keptHeadOf } from "../exchange/kept-headers.ts";
import { Answer } from "../poll/answer.ts";
import { judgeAnswer, type Judging, unreadBy } from "../poll/judging.ts";
import { excerptOf } from "../exchange/excerpt.ts";
import { outcomeOf } from "../exchange/outcome.ts";
import type { Reason } from "../exchange/reasons.ts";
import { slotsOf } from "../schedule/schedule.ts";

/** `cameMs` is monotonic. */
export type Slot = { readonly origin: SlotOrigin; readonly cameMs: number };

/** An upstream has this by its config, once it is opened. */
export type Equipment = {
  readonly ask: Ask;
  readonly gates: readonly Gate[];
  readonly judging: Judging;
  /** A poll costs and does nothing, and its schedule is no calendar: one more may be sent between two slots. */
  readonly isPolledBetweenSlots: boolean;
};

/** An upstream, and what it is polled with. A poll ends as it began, though it is changed meanwhile. */
export type Target = Equipment & { readonly upstream: Upstream; readonly probe: Probe };

export type PollOnceDeps = {
  readonly clock: Clock;
  readonly nextPollId: () => string;
  /** Whether this process stood still at some time since then: suspended, or without a CPU. Monotonic. */
  readonly stoodStill?: ((sinceMs: number) => boolean) | undefined;
  /** As `judge`, elsewhere: the body is large. */
  readonly judgeLarge: (upstream: Upstream, observation: Observation, times: PollTimes) => Promise<Poll>;
  readonly onBug: (error: unknown) => void;
};

/**
 * Sends the one request of a lease, and settles the lease whatever happens. Undefined where the right to send ended, or
 * it was held back, before anything was written: that says nothing about the upstream. `isHeldBack` is asked just before
 * the request is written: a pause may have come, or its upstream may have left.
 */
export async function pollOnce(
  { upstream, probe, judging }: Pick<Target, "upstream" | "probe" | "judging">,
  slot: Slot,
  lease: Lease,
  deps: PollOnceDeps,
  isHeldBack: () => boolean,
  cutOff: AbortSignal,
): Promise<Poll | undefined> {
  const { clock } = deps;
  const sent = { id: deps.nextPollId(), ms: clock.now(), atMs: clock.wallNow() };
  const times = (): PollTimes => timesOf(upstream, slot, sent, clock);
  const ended = (poll: Poll): Poll => {
    lease.ended(poll);
    return poll;
  };
  const unobserved = (detail: string): Poll => {
    const poll = unobservedPoll(times(), clock.now() - sent.ms, "bug", detail);
    return ended({ ...poll, said: unreadBy(judging, upstream) });
  };

  let wasRefused = false;
  const mayWrite = (): boolean => {
    wasRefused = isHeldBack() || !lease.isUsable();
    return !wasRefused;
  };
  let observation: Observation | undefined;
  try {
    observation = await probe.poll(cutOff, mayWrite, sent.id);
  } catch (error) {
    deps.onBug(error);
  }
  // Not later, as after judging: the proof reckons from the answer, or from when the socket has closed.
  lease.settle(observation === undefined ? "unanswered" : settlementOf(observation.exchange));
  if (observation === undefined) return unobserved("pacewatch failed at this poll: see its log");
  const isUnsent = settlementOf(observation.exchange) === "unsent";
  if (isUnsent && (cutOff.aborted || wasRefused || !lease.isUsable())) return undefined;
  if (cutOff.aborted && observation.exchange.kind === "broken") {
    return unobserved("pacewatch stopped watching this upstream and could not wait for the answer");
  }
  try {
    const stoodStill = deps.stoodStill?.(sent.ms) === true;
    const poll =
      observation.large === undefined
        ? judge(upstream, observation, times(), judging)
        : await deps.judgeLarge(upstream, observation, times());
    return ended(stoodStill ? asSuspended(poll) : poll);
  } catch (error) {
    deps.onBug(error);
    return unobserved("pacewatch failed to judge this answer: see its log");
  }
}

const EXCERPT_CHARACTERS = 300;

/** Who a poll is, and when it was. */
export type PollTimes = Pick<Poll, "id" | "origin" | "sentAtMs" | "endedAtMs" | "delayMs" | "usualGapMs">;

/** Judges an observation by what this upstream's config expects. */
export function judge(
  upstream: Upstream,
  observation: Observation,
  times: PollTimes,
  judging: Judging,
): Poll {
  const { exchange, durationMs, withoutKeys } = observation;
  const { head } = exchange;
  const answer = new Answer(upstream, observation, times.endedAtMs);
  const { outcome, detail, said } = judgeAnswer(answer, judging);
  const isOk = outcome.kind === "ok";
  return {
    ...times,
    durationMs,
    phasesMs: observation.phasesMs,
    outcome,
    degraded: isOk && durationMs > upstream.degradedAboveMs,
    withinObjective: isOk && durationMs <= upstream.objective.latencyMs,
    detail,
    head:
      head &&
      (isOk
        ? { status: head.status, headers: [] }
        : keptHeadOf(head, upstream.requestIdHeaders, withoutKeys)),
    // Whoever refuses a key is the likeliest to repeat it.
    excerpt:
      isOk || outcome.kind === "rejected" ? undefined : excerptOf(exchange, EXCERPT_CHARACTERS, withoutKeys),
    said,
    certificateExpiresAtMs: observation.certificateExpiresAtMs,
  };
}

/** How long it took, and often how it ended, is the doing of whatever stopped us. What the answer asks for holds. */
function asSuspended(poll: Poll): Poll {
  const outcome = outcomeOf("suspended");
  const detail = "pacewatch stood still while the poll was under way";
  return { ...poll, outcome, detail, degraded: false, withinObjective: false };
}

/** A slot ends as this poll, and nothing was sent. */
export function endedUnsent(
  upstream: Upstream,
  slot: Slot,
  { reason, detail }: Ending,
  { clock, nextPollId }: Pick<PollOnceDeps, "clock" | "nextPollId">,
): Poll {
  const sent = { id: nextPollId(), ms: clock.now(), atMs: clock.wallNow() };
  return unobservedPoll(timesOf(upstream, slot, sent, clock), 0, reason, detail);
}

function timesOf(
  { schedule }: Upstream,
  slot: Slot,
  sent: { readonly id: string; readonly ms: number; readonly atMs: number },
  clock: Clock,
): PollTimes {
  return {
    id: sent.id,
    origin: slot.origin,
    sentAtMs: sent.atMs,
    endedAtMs: clock.wallNow(),
    delayMs: Math.max(0, sent.ms - slot.cameMs),
    usualGapMs: slotsOf(schedule).usualGapMs,
  };
}

/** A poll without a usable observation: our own bug, cut off by our shutdown, or never sent. */
function unobservedPoll(times: PollTimes, durationMs: number, reason: Reason, detail: string): Poll {
  return {
    ...times,
    durationMs,
    phasesMs: {},
    outcome: outcomeOf(reason),
    degraded: false,
    withinObjective: false,
    detail,
    head: undefined,
    excerpt: undefined,
    certificateExpiresAtMs: undefined,
  };
}
