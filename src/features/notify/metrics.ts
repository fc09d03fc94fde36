import { counter, gauge, type Metrics } from "../../kernel/metrics/family.ts";
import type { Delivery } from "./receivers/answer.ts";

export type ReceiverSnapshot = {
  readonly name: string;
  readonly counts: Readonly<Record<Delivery["kind"], number>>;
  /** What it is to be told is due since then. Wall clock; undefined while nothing is. */
  readonly oldestDueMs: number | undefined;
  readonly nowMs: number;
};

declare module "../../kernel/metrics/snapshot.ts" {
  interface Running {
    readonly notifier?: { readonly snapshots: readonly ReceiverSnapshot[] } | undefined;
  }
}

export const NOTIFY_METRICS: Metrics = {
  process: {
    pacewatch_notifications_total: counter(
      "Messages to a receiver: delivered, failed and to be sent again, or refused for good; absent without notify.",
      ({ notifier }, add) => {
        for (const { name: receiver, counts } of notifier?.snapshots ?? [])
          for (const [outcome, count] of Object.entries(counts)) add(count, { receiver, outcome });
      },
    ),
    pacewatch_notifications_oldest_pending_seconds: gauge(
      "Age of the oldest message that a receiver did not get yet, group_wait included; 0 while there is none.",
      ({ notifier }, add) => {
        for (const { name: receiver, oldestDueMs, nowMs } of notifier?.snapshots ?? [])
          add(oldestDueMs === undefined ? 0 : Math.max(0, (nowMs - oldestDueMs) / 1000), { receiver });
      },
    ),
  },
};
