import type { Advice } from "../../core/advice/advice.ts";
import type { ParseList } from "../../core/advice/reading.ts";
import type { Upstream } from "../../core/config/config.ts";
import type { Observation } from "../../core/exchange/exchange.ts";
import type { Poll, SlotOrigin } from "../../core/poll/poll.ts";
import { settlementOf, type Lease } from "../../core/budget/ledger.ts";
import type { Probe } from "../../core/poll/ports.ts";
import type { Clock } from "../../core/time/clock.ts";
import { judge, judgeUnobserved, type PollTimes } from "./judge.ts";

/** `atMs` is monotonic. */
export type Slot = { readonly origin: SlotOrigin; readonly atMs: number };

export type PollOnceParts = {
  readonly clock: Clock;
  readonly parseList: ParseList;
  readonly nextPollId: () => string;
  readonly onBug: (error: unknown) => void;
};

export type PollResult = { readonly poll: Poll; readonly advice: Advice | undefined };

/** Sends the one request that a lease stands for, and settles the lease whatever happens. */
export async function pollOnce(
  upstream: Upstream,
  probe: Probe,
  slot: Slot,
  lease: Lease,
  parts: PollOnceParts,
  cutOff: AbortSignal,
): Promise<PollResult> {
  const { clock } = parts;
  const id = parts.nextPollId();
  const sentMs = clock.now();
  const sentAtMs = clock.wallNow();
  const times = (): PollTimes => ({
    id,
    origin: slot.origin,
    slotAtMs: sentAtMs - (sentMs - slot.atMs),
    sentAtMs,
    endedAtMs: clock.wallNow(),
    delayMs: Math.max(0, sentMs - slot.atMs),
  });
  const unobserved = (detail: string): PollResult => ({
    poll: judgeUnobserved(times(), clock.now() - sentMs, detail),
    advice: undefined,
  });

  let observation: Observation | undefined;
  try {
    observation = await probe.poll(cutOff, () => lease.isUsable());
  } catch (error) {
    parts.onBug(error);
  }
  lease.settle(observation === undefined ? "unanswered" : settlementOf(observation.exchange));
  if (observation === undefined) return unobserved("pacewatch failed at this poll: see its log");
  if (cutOff.aborted && observation.exchange.kind === "broken") {
    return unobserved("pacewatch stopped watching this upstream and could not wait for the answer");
  }
  try {
    return judge(upstream, observation, times(), parts.parseList);
  } catch (error) {
    parts.onBug(error);
    return unobserved("pacewatch failed to judge this answer: see its log");
  }
}
