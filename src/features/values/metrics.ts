import type { Value } from "./config.ts";
import { type Add, gauge, type Metrics, seconds } from "../../kernel/metrics/family.ts";
import type { UpstreamSnapshot } from "../../kernel/metrics/snapshot.ts";
import type { Burn } from "../history/credit.ts";
import { valuesKnown } from "./tracked.ts";
import type { ValueSnapshot } from "./values.ts";

declare module "../../kernel/metrics/snapshot.ts" {
  interface UpstreamSnapshot {
    /** In the order of the config; absent where it has none. */
    readonly values?: readonly ValueSnapshot[] | undefined;
  }
}

export const VALUE_METRICS: Metrics = {
  ofUpstream:
    ({ recordOf }) =>
    ({ upstream: { name, values, schedule }, nowMs }) => {
      const history = recordOf?.(name)?.history;
      return { values: values && history && valuesKnown(history, values, schedule.longestGapMs, nowMs) };
    },
  upstream: {
    pacewatch_upstream_value: gauge(
      "A number that the answers tell, as `values` in the config names it; absent once not seen for three periods (at least 10 minutes).",
      eachValue(({ name, unit = "" }, { value }, add) => add(value, { name, unit })),
    ),
    pacewatch_upstream_value_timestamp_seconds: gauge(
      "When the value was last seen; absent with it.",
      eachValue(({ name }, { seenAtMs }, add) => add(seconds(seenAtMs), { name })),
    ),
    pacewatch_upstream_value_readable: gauge(
      "1 if the answers have a number where `values` in the config names one, 0 once they have had none for three periods (at least 10 minutes); absent while nothing is answered.",
      eachValue(({ name }, { isReadable }, add) => add(isReadable, { name })),
    ),
    pacewatch_upstream_credit_burn_per_second: gauge(
      "How fast a credit went down over the window, refills left out; absent until half of the window is known.",
      eachBurn(({ perSecond }) => perSecond),
    ),
    pacewatch_upstream_credit_empty_timestamp_seconds: gauge(
      "When a credit runs out at the pace of the window; absent if not within a year. While the credit cannot be read, it stays as it was.",
      eachBurn(({ emptyAtMs }) => seconds(emptyAtMs)),
    ),
  },
};

type Read = (subject: UpstreamSnapshot, add: Add) => void;

function eachValue(read: (config: Value, value: ValueSnapshot, add: Add) => void): Read {
  return ({ upstream, values }, add) => {
    upstream.values?.forEach((config, place) => {
      const value = values?.[place];
      if (value !== undefined) read(config, value, add);
    });
  };
}

function eachBurn(read: (burn: Burn) => number | undefined): Read {
  return eachValue(({ name, credit }, { burns }, add) => {
    if (credit) for (const burn of burns) add(read(burn), { name, window: burn.window });
  });
}
