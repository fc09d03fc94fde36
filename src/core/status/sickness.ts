import type { HealthState } from "../poll/health.ts";
import type { UpstreamStatus } from "./status.ts";

/** The sickest first. What nobody looks at may be as sick as can be; what is slow still works. */
export const SICKEST_FIRST: readonly HealthState[] = [
  "down",
  "unauthorized",
  "unknown",
  "throttled",
  "degraded",
  "up",
];

/** Among the equally sick, the latest news first; the healthy stay in the order of the config. */
export function bySickness(upstreams: readonly UpstreamStatus[]): readonly UpstreamStatus[] {
  return upstreams.toSorted(({ health: a }, { health: b }) => {
    const order = SICKEST_FIRST.indexOf(a.state) - SICKEST_FIRST.indexOf(b.state);
    return order !== 0 || a.state === "up" ? order : b.sinceMs - a.sinceMs;
  });
}
