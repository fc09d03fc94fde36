import { ANNOUNCEMENT_METRICS } from "../../features/announcements/metrics.ts";
import { FLEET_METRICS } from "../../features/fleet/metrics.ts";
import { HINT_METRICS } from "../../features/hints/metrics.ts";
import { MONEY_METRICS } from "../../features/money/metrics.ts";
import { NOTIFY_METRICS } from "../../features/notify/metrics.ts";
import { QUOTA_METRICS } from "../../features/quota/metrics.ts";
import { STATE_METRICS } from "../../features/state/metrics.ts";
import { STREAM_METRICS } from "../../features/streams/metrics.ts";
import { VALUE_METRICS } from "../../features/values/metrics.ts";
import { KERNEL_METRICS } from "../../kernel/metrics/catalogue.ts";
import type { Counter } from "../../kernel/metrics/accounts.ts";
import type { Metrics } from "../../kernel/metrics/family.ts";

/** All that `/metrics` shows, in this order. A feature is one line here. */
export const METRICS: readonly Metrics[] = [
  KERNEL_METRICS,
  STREAM_METRICS,
  ANNOUNCEMENT_METRICS,
  VALUE_METRICS,
  HINT_METRICS,
  QUOTA_METRICS,
  MONEY_METRICS,
  STATE_METRICS,
  FLEET_METRICS,
  NOTIFY_METRICS,
];

export const COUNTERS: readonly Counter[] = METRICS.flatMap(({ counter }) => counter ?? []);
