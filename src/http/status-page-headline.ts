import type { HealthState } from "../core/health.ts";
import { SICKEST_FIRST } from "../core/sickness.ts";
import type { StatusSnapshot } from "../core/status.ts";
import { surroundingsIn } from "../core/surroundings.ts";
import type { Elsewhere } from "./status-page-fleet.ts";
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
export function headline(snapshot: StatusSnapshot, elsewhere: readonly Elsewhere[] = []): string {
  const { ready, upstreams } = snapshot;
  if (!ready) return "Pacewatch is not watching now";
  const here = upstreams.map(({ name, health: { state, sinceMs } }) => ({ name, state, sinceMs }));
  const all = [...here, ...elsewhere];
  const sick = sickestFirst(all).filter(({ state }) => state !== "up");
  const [first, second, ...others] = all;
  if (first === undefined) return "No upstreams are configured";
  if (sick.length === 0) {
    if (second === undefined) return `${first.name} is up`;
    return others.length === 0 ? "Both upstreams are up" : `All ${all.length} upstreams are up`;
  }
  const isUnseen = upstreams.every(({ counts }) => counts.polls + counts.skipped === 0);
  if (isUnseen && sick.length === all.length && sick.every(({ state }) => state === "unknown"))
    return "Nothing is known yet: the first look is under way";
  if (surroundingsIn(snapshot).isOffline) return "No upstream can be reached: it is probably us";
  if (sick.length <= NAMED) return sick.map(({ name, state }) => `${name} ${HEALTH_WORDS[state]}`).join(", ");
  const counts = SICKEST_FIRST.map(
    (state) => [sick.filter((upstream) => upstream.state === state).length, COUNTED[state]] as const,
  );
  const told = counts.filter(([count]) => count > 0).map(([count, words]) => `${count} ${words}`);
  return `Of ${all.length} upstreams: ${told.join(", ")}`;
}

/** As the page shows them. */
function sickestFirst(upstreams: readonly Elsewhere[]): readonly Elsewhere[] {
  return upstreams.toSorted(
    (a, b) =>
      SICKEST_FIRST.indexOf(a.state) - SICKEST_FIRST.indexOf(b.state) ||
      (a.state === "up" ? 0 : b.sinceMs - a.sinceMs),
  );
}
