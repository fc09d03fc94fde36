import type { Upstream } from "../config/config.ts";
import { mostSlotsWithin } from "../schedule/schedule.ts";
import { CLOCK_RATE_MARGIN } from "./leases.ts";
import type { Needs } from "./signals.ts";

/** One poll a period of each upstream, without confirmations: as long as the lease of a slow one is held. */
export function needsOf(upstreams: readonly Upstream[]): Needs {
  return ({ perMs }) =>
    upstreams.reduce(
      (sum, { schedule, timeoutMs }) =>
        sum + mostSlotsWithin(schedule, perMs * CLOCK_RATE_MARGIN + timeoutMs),
      0,
    );
}
