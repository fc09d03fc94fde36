import type { HealthState } from "../../kernel/poll/health.ts";

/** An upstream that nobody polls may be down, so `unknown` comes early. A slow one still works, so it comes late. */
export const WORST_FIRST: readonly HealthState[] = [
  "down",
  "unauthorized",
  "unknown",
  "throttled",
  "degraded",
  "up",
];

type StateSince = { readonly state: HealthState; readonly sinceMs: number };

/** Within one state, the latest change comes first. Healthy upstreams keep the order of the config. */
export function worstFirst<T>(items: readonly T[], healthOf: (item: T) => StateSince): readonly T[] {
  return items.toSorted((one, other) => {
    const [a, b] = [healthOf(one), healthOf(other)];
    const order = WORST_FIRST.indexOf(a.state) - WORST_FIRST.indexOf(b.state);
    return order !== 0 || a.state === "up" ? order : b.sinceMs - a.sinceMs;
  });
}
