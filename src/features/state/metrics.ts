import { gauge, type Metrics, one, seconds } from "../../kernel/metrics/family.ts";
import { lostAtMs, type StateStore } from "../history/state.ts";

declare module "../../kernel/metrics/snapshot.ts" {
  interface Running {
    /** Undefined without a state file. */
    readonly store?: Pick<StateStore, "isUp" | "lostAtMs"> | undefined;
  }
}

export const STATE_METRICS: Metrics = {
  process: {
    pacewatch_state_store_up: gauge(
      "1 while state can be written, 0 while it cannot; absent without a state file.",
      one(({ store }) => store?.isUp),
    ),
    pacewatch_state_lost_timestamp_seconds: gauge(
      "When a damaged state file was moved aside with what it knew; for a day, then absent.",
      one(({ store, nowMs }) => seconds(lostAtMs(store, nowMs))),
    ),
  },
};
