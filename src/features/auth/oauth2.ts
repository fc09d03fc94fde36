/** The token requests of OAuth 2.0 cost a known number of requests, before any is sent. */

import { scheduleEvery, slotsOf } from "../../kernel/schedule/schedule.ts";
import { DAY_MS } from "../../kernel/time/duration.ts";
import type { Upstream } from "../../kernel/config/config.ts";

/** Two token requests with the same settings are at least this far apart. */
export const TOKEN_GAP_MS = 60_000;
export const TOKEN_TIMEOUT_MS = 10_000;

/** Upstreams for which this is equal share one token; undefined where none is needed. */
export function tokenIdentity({ auth, denyAddresses }: Upstream): string | undefined {
  return auth.kind === "oauth2" ? JSON.stringify([auth.secret, auth.token, denyAddresses]) : undefined;
}

/**
 * The ledger and the proof see the token requests as upstreams of their own. One is sent at most once a
 * minute, and only where a slot asks for it.
 */
export function tokenRequests(upstreams: readonly Upstream[]): readonly Upstream[] {
  return [...Map.groupBy(upstreams, tokenIdentity).values()].flatMap((users) => {
    const [first] = users;
    if (first?.auth.kind !== "oauth2") return [];
    const { budgets } = first.auth.token;
    const gapMs = Math.max(
      TOKEN_GAP_MS,
      Math.min(...users.map(({ schedule }) => slotsOf(schedule).shortestGapMs)),
    );
    const schedule = scheduleEvery(Math.min(gapMs, DAY_MS), first.name);
    const others = users.length === 1 ? "" : ` and ${users.length - 1} more`;
    return [
      {
        ...first,
        name: `token of ${first.name}${others}`,
        budgets,
        schedule: { ...schedule, source: `at most ${schedule.source}` },
        timeoutMs: TOKEN_TIMEOUT_MS,
        confirm: 0,
        price: undefined,
      },
    ];
  });
}
