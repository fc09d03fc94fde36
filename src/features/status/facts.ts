import { announcedBy } from "../announcements/announcement.ts";
import { firstEndMs, valuesKnown } from "../values/tracked.ts";
import { worstBurn } from "../history/credit.ts";
import type { Upstream } from "../../kernel/config/config.ts";
import type { Value } from "../values/config.ts";
import { SKIP_CAUSES } from "../../kernel/exchange/outcome.ts";
import type { ValueSnapshot } from "../values/values.ts";
import type { Health } from "../../kernel/poll/health.ts";
import { slotsOf } from "../../kernel/schedule/schedule.ts";
import { creditSentence } from "../history/credit-sentence.ts";
import { type UpstreamFacts, type UpstreamSummary, urlWithoutQuery, type ValueStatus } from "./status.ts";
import type { UpstreamRecord } from "../history/upstream-record.ts";

/** An upstream as it is polled now. */
export type Polled = {
  readonly upstream: Upstream;
  readonly record: UpstreamRecord;
  readonly condition: {
    readonly health: Health;
    readonly pausedUntilMs: number;
    readonly nextSlotAtMs: number | undefined;
  };
};

export function summaryOf({ upstream, record, condition }: Polled, nowMs: number): UpstreamSummary {
  const { accounts, history } = record;
  const { slots, totalPolls, inFlight, waiting, skips } = accounts;
  const creditEndsAtMs = upstream.values && firstEndMs(history.tracks, upstream.values);
  return {
    name: upstream.name,
    url: urlWithoutQuery(upstream.url),
    health: { state: condition.health.state, sinceMs: history.sinceMs, up: condition.health.isUp },
    counts: { slots, polls: totalPolls, inFlight, waiting, skipped: skips.total },
    lastPoll: history.lastPoll,
    missedLastHour: history.missedLastHour(upstream.objective.availability, nowMs),
    ...(creditEndsAtMs !== undefined && { creditEndsAtMs }),
  };
}

export function factsOf(polled: Polled, nowMs: number): UpstreamFacts {
  const { upstream, record, condition } = polled;
  const { accounts, history } = record;
  const { schedule, values, links } = upstream;
  const read = valuesKnown(history, values ?? [], schedule.longestGapMs, nowMs);
  return {
    ...summaryOf(polled, nowMs),
    budgets: upstream.budgets,
    labels: upstream.labels,
    ...(links && { links }),
    schedule: { source: schedule.source, longestGapMs: schedule.longestGapMs },
    usualGapMs: slotsOf(schedule).usualGapMs,
    objective: upstream.objective,
    degradedAboveMs: upstream.degradedAboveMs,
    pausedUntilMs: condition.pausedUntilMs,
    nextSlotAtMs: condition.nextSlotAtMs,
    certificateExpiresAtMs: accounts.certificateExpiresAtMs(upstream.url),
    announcement: announcedBy(history),
    ...(values && { values: values.map((value, place) => valueStatusOf(value, read[place], nowMs)) }),
    skips: SKIP_CAUSES.map((cause) => ({ cause, count: accounts.skips.of(cause) })).filter(
      ({ count }) => count > 0,
    ),
    skippedSincePoll: history.skippedSincePoll,
    latency: history.latency,
    availability: history.availability(nowMs),
    lastPolls: history.lastPolls,
    lastFailures: history.lastFailures,
  };
}

function valueStatusOf(
  { name, unit = "" }: Value,
  read: ValueSnapshot | undefined,
  nowMs: number,
): ValueStatus {
  const { value, seenAtMs, found, burns = [] } = read ?? {};
  const sentence = creditSentence(burns, nowMs);
  const credit = { sentence, emptyAtMs: worstBurn(burns)?.emptyAtMs, burns };
  return {
    name,
    unit,
    value,
    seenAtMs,
    ...(found !== undefined && { found }),
    ...(burns.length > 0 && { credit }),
  };
}
