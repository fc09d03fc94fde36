import {
  announcedWarning,
  announcementFacts,
  followAnnouncement,
} from "../../features/announcements/announcement.ts";
import { announcedEnd } from "../../features/announcements/block.ts";
import { announcementLog } from "../../features/announcements/log.ts";
import { ANNOUNCEMENT_METRICS } from "../../features/announcements/metrics.ts";
import { FLEET_METRICS } from "../../features/fleet/metrics.ts";
import { hintBlock, loweredBy } from "../../features/hints/block.ts";
import { hintFacts, pausedUntilMs } from "../../features/hints/facts.ts";
import { HINT_METRICS } from "../../features/hints/metrics.ts";
import type { Follower } from "../../features/history/history.ts";
import type { PollLog } from "../../features/log/logger.ts";
import { NOTIFY_METRICS } from "../../features/notify/metrics.ts";
import type { Block } from "../../http/markup/block.ts";
import { quotaBlock } from "../../features/quota/block.ts";
import { logCharge } from "../../features/quota/cost.ts";
import { quotaEnds, quotaFacts } from "../../features/quota/facts.ts";
import { QUOTA_METRICS } from "../../features/quota/metrics.ts";
import { usedUp } from "../../features/quota/standing.ts";
import { followQuotas } from "../../features/quota/tracked.ts";
import { STATE_METRICS } from "../../features/state/metrics.ts";
import type { Facts } from "../../features/status/facts.ts";
import { STREAM_METRICS } from "../../features/streams/metrics.ts";
import { valueSection } from "../../features/values/block.ts";
import { creditEnds, valueFacts, valueHistories } from "../../features/values/facts.ts";
import { VALUE_METRICS } from "../../features/values/metrics.ts";
import { followValues } from "../../features/values/tracked.ts";
import { valueLog } from "../../features/values/values.ts";
import type { Counter } from "../../kernel/metrics/counts.ts";
import { KERNEL_METRICS } from "../../kernel/metrics/catalogue.ts";
import type { Metrics } from "../../kernel/metrics/family.ts";

/** A feature shows this of what it knows. */
type Shown = {
  /** At `/metrics`. */
  readonly metrics?: Metrics;
  /** In the API, and on the pages what its block draws of that. */
  readonly facts?: Facts;
  readonly block?: Block;
  /** What it remembers of each poll. */
  readonly follower?: Follower;
  /** What it says of each poll of one upstream in the log. */
  readonly log?: () => PollLog;
};

/** In this order. */
const SHOWN: readonly Shown[] = [
  { metrics: KERNEL_METRICS },
  { metrics: STREAM_METRICS },
  {
    metrics: ANNOUNCEMENT_METRICS,
    facts: { upstream: announcementFacts, remark: announcedWarning },
    block: { upstream: announcedEnd },
    follower: followAnnouncement,
    log: announcementLog,
  },
  {
    metrics: VALUE_METRICS,
    facts: { upstream: valueFacts, details: valueHistories, endings: creditEnds },
    block: { section: valueSection },
    follower: followValues,
    log: valueLog,
  },
  { metrics: HINT_METRICS, facts: { budget: hintFacts, pausedUntilMs } },
  {
    metrics: QUOTA_METRICS,
    facts: { budget: quotaFacts, endings: quotaEnds, usedUp },
    block: { budget: quotaBlock },
    follower: followQuotas,
    log: () => logCharge,
  },
  // On the card of a budget it stands below what is left of the quotas.
  { block: { budget: hintBlock, lowered: loweredBy } },
  { metrics: STATE_METRICS },
  { metrics: FLEET_METRICS },
  { metrics: NOTIFY_METRICS },
];

export const METRICS: readonly Metrics[] = SHOWN.flatMap(({ metrics }) => metrics ?? []);
export const COUNTERS: readonly Counter[] = METRICS.flatMap(({ counter }) => counter ?? []);
export const FACTS: readonly Facts[] = SHOWN.flatMap(({ facts }) => facts ?? []);
export const BLOCKS: readonly Block[] = SHOWN.flatMap(({ block }) => block ?? []);
export const FOLLOWERS: readonly Follower[] = SHOWN.flatMap(({ follower }) => follower ?? []);

const LOGS = SHOWN.flatMap(({ log }) => log ?? []);
export const pollLogsOf = (): readonly PollLog[] => LOGS.map((open) => open());
