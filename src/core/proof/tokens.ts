import type { Fleet, Upstream } from "../config/config.ts";
import { TOKEN_GAP_MS, TOKEN_TIMEOUT_MS, tokensOf } from "../config/oauth2.ts";
import { LEGAL_PERIODS_MS, scheduleEvery, shortestGapMs } from "../schedule/schedule.ts";

/**
 * Token requests count as polls of their budget: one is sent at most once a minute, and only where a slot asks for it.
 * In a fleet each replica has a token of its own, if it holds an upstream that needs one.
 */
export function tokenRequests(
  upstreams: readonly Upstream[],
  fleet: Pick<Fleet, "mode" | "replicas"> | undefined,
): readonly Upstream[] {
  return tokensOf(upstreams).flatMap(({ auth, users }) => {
    const [first] = users;
    if (first === undefined) return [];
    const gapMs = Math.max(TOKEN_GAP_MS, Math.min(...users.map(({ schedule }) => shortestGapMs(schedule))));
    const reading = scheduleEvery(LEGAL_PERIODS_MS.findLast((legalMs) => legalMs <= gapMs) ?? 0, first.name);
    if (reading.kind === "refused") return [];
    const others = users.length === 1 ? "" : ` and ${users.length - 1} more`;
    const holders = fleet?.mode === "shard" ? Math.min(fleet.replicas, users.length) : 1;
    return Array.from({ length: holders }, (_, index) => ({
      ...first,
      name: `token of ${first.name}${others}${index === 0 ? "" : `, replica ${index + 1}`}`,
      budget: auth.token.budget,
      schedule: { ...reading.schedule, source: `at most ${reading.schedule.source}` },
      timeoutMs: TOKEN_TIMEOUT_MS,
      confirm: 0,
    }));
  });
}
