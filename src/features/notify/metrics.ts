import { counter, gauge, type Metrics } from "../../kernel/metrics/family.ts";
import type { Delivery } from "./receivers/answer.ts";

export type ReceiverSnapshot = {
  readonly name: string;
  readonly counts: Readonly<Record<Delivery["kind"], number>>;
  /** What it did not get should have been sent then. Wall clock; undefined while there is nothing. */
  readonly sendMs: number | undefined;
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
      "For how long a receiver should have had a message that it did not get yet; 0 while there is none.",
      ({ notifier, nowMs }, add) => {
        for (const { name: receiver, sendMs } of notifier?.snapshots ?? [])
          add(sendMs === undefined ? 0 : Math.max(0, (nowMs - sendMs) / 1000), { receiver });
      },
    ),
  },
};
