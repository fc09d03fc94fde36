import type { HealthState } from "../core/health.ts";
import { SICKEST_FIRST, bySickness } from "../core/sickness.ts";
import type { StatusSnapshot } from "../core/status.ts";
import { isOffline } from "../core/verdict.ts";
import { HEALTH_WORDS } from "./wording.ts";

/** So many are told by name; more are counted. */
const NAMED = 2;

const COUNTED: Readonly<Record<HealthState, string>> = {
  down: "down",
  unauthorized: "refusing our key",
  unknown: "not known",
  throttled: "throttling us",
  degraded: "slow",
  up: "up",
};

/** The whole page in one line: for a tab's title, and for whoever looks for five seconds. */
export function headline(snapshot: StatusSnapshot): string {
  const { ready, upstreams } = snapshot;
  if (!ready) return "Pacewatch is not watching now";
  const sick = bySickness(upstreams).filter(({ health }) => health.state !== "up");
  const [first, second, ...others] = upstreams;
  if (first === undefined) return "No upstreams are configured";
  if (sick.length === 0) {
    if (second === undefined) return `${first.name} is up`;
    return others.length === 0 ? "Both upstreams are up" : `All ${upstreams.length} upstreams are up`;
  }
  if (
    upstreams.every(({ health, counts }) => health.state === "unknown" && counts.polls + counts.skipped === 0)
  )
    return "Nothing is known yet: the first look is under way";
  if (isOffline(snapshot)) return "No upstream can be reached: it is probably us";
  if (sick.length <= NAMED)
    return sick.map(({ name, health }) => `${name} ${HEALTH_WORDS[health.state]}`).join(", ");
  const counts = SICKEST_FIRST.map(
    (state) => [sick.filter(({ health }) => health.state === state).length, COUNTED[state]] as const,
  );
  const told = counts.filter(([count]) => count > 0).map(([count, words]) => `${count} ${words}`);
  return `Of ${upstreams.length} upstreams: ${told.join(", ")}`;
}
