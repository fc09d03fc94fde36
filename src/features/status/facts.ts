import type { Budget, Upstream } from "../../kernel/config/config.ts";
import type { BudgetSnapshot, Running } from "../../kernel/metrics/snapshot.ts";
import type { Fields } from "../../kernel/text/field.ts";
import { SKIP_CAUSES } from "../../kernel/exchange/outcome.ts";
import type { Health } from "../../kernel/poll/health.ts";
import {
  type BudgetStatus,
  type Ending,
  type Status,
  type UpstreamFacts,
  type UpstreamSummary,
} from "./status.ts";
import { urlWithoutQuery } from "../../transport/secrets/keys.ts";
import type { History } from "../history/history.ts";
import type { UpstreamRecord } from "../history/upstream-record.ts";

/** An upstream as it is polled now. */
export type Polled = {
  readonly upstream: Upstream;
  readonly record: UpstreamRecord;
  readonly health: Health;
  readonly nextSlotAtMs: number | undefined;
};

type OfUpstream = (upstream: Upstream, history: History, running: Running) => Fields;

/** What a feature shows of an upstream or of a budget, under names of its own, and what it reads there. */
export type Facts = {
  readonly upstream?: OfUpstream;
  /** Too long for a list of all upstreams. */
  readonly details?: OfUpstream;
  /** Until when it holds the upstream itself back; 0 if it does not. Wall clock. */
  readonly pausedUntilMs?: (upstream: Upstream, running: Running) => number;
  readonly budget?: (
    budget: BudgetSnapshot,
    nowMs: number,
  ) => Fields & Partial<Pick<BudgetStatus, "pausedUntilMs" | "pausedBecause">>;
  readonly endings?: (shown: Fields) => readonly Ending[];
  /** Why too little is left of a budget for a request of this upstream; undefined while there is enough. */
  readonly usedUp?: (
    upstream: Upstream,
    budget: string,
    running: Omit<Running, "config">,
  ) => string | undefined;
  /** For those who hear that an upstream is not well. */
  readonly remark?: (upstream: Fields) => string | undefined;
};

/** `which`: what a list of all upstreams shows, or what is too long for it. */
export function shownOf(
  { upstream, record }: Polled,
  all: readonly Facts[],
  running: Running,
  which: "upstream" | "details" = "upstream",
): Fields {
  return Object.assign({}, ...all.map((facts) => facts[which]?.(upstream, record.history, running)));
}

/** What the features read in what they show. */
export function readersOf(all: readonly Facts[]): Pick<Status, "endingsIn" | "remarksOn"> {
  return {
    endingsIn: (shown) => endingsIn(shown, all),
    remarksOn: (upstream) => all.flatMap(({ remark }) => remark?.(upstream) ?? []),
  };
}

/** Of this budget, or of any of its own. */
export function usedUpOf(
  upstream: Upstream | undefined,
  budget: string | undefined,
  all: readonly Facts[],
  running: Omit<Running, "config">,
): string | undefined {
  const budgets = budget === undefined ? (upstream?.budgets ?? []) : [budget];
  const words = budgets.flatMap((of) => all.map(({ usedUp }) => upstream && usedUp?.(upstream, of, running)));
  return words.find((each) => each !== undefined);
}

function endingsIn(shown: Fields, all: readonly Facts[]): readonly Ending[] {
  return all.flatMap(({ endings }) => endings?.(shown) ?? []);
}

export function budgetStatusOf(
  { name, share, vantage }: Budget,
  budget: BudgetSnapshot,
  all: readonly Facts[],
  nowMs: number,
): BudgetStatus {
  const own = { name, share, ...(vantage && { vantage }), rates: budget.rates, pausedUntilMs: 0 };
  return Object.assign(own, ...all.map((facts) => facts.budget?.(budget, nowMs)));
}

export function summaryOf(
  polled: Polled,
  all: readonly Facts[],
  running: Running,
  shown: Fields = shownOf(polled, all, running),
): UpstreamSummary {
  const { upstream, record, health } = polled;
  const { accounts, history } = record;
  const { slots, totalPolls, inFlight, waiting, skips } = accounts;
  const creditEndsAtMs = Math.min(...endingsIn(shown, all).map(({ atMs = Infinity }) => atMs));
  return {
    name: upstream.name,
    url: urlWithoutQuery(upstream.url),
    health: { state: health.state, sinceMs: history.sinceMs, up: health.isUp },
    counts: { slots, polls: totalPolls, inFlight, waiting, skipped: skips.total },
    lastPoll: history.lastPoll,
    missedLastHour: history.missedLastHour(upstream.objective.availability, running.nowMs),
    ...(creditEndsAtMs < Infinity && { creditEndsAtMs }),
  };
}

export function factsOf(polled: Polled, all: readonly Facts[], running: Running): UpstreamFacts {
  const { upstream, record, nextSlotAtMs } = polled;
  const { accounts, history } = record;
  const { schedule, links } = upstream;
  const shown = shownOf(polled, all, running);
  return {
    ...summaryOf(polled, all, running, shown),
    method: upstream.method ?? "GET",
    budgets: upstream.budgets,
    labels: upstream.labels,
    ...(links && { links }),
    schedule: { source: schedule.source, longestGapMs: schedule.longestGapMs },
    objective: upstream.objective,
    degradedAboveMs: upstream.degradedAboveMs,
    pausedUntilMs: Math.max(0, ...all.map((facts) => facts.pausedUntilMs?.(upstream, running) ?? 0)),
    nextSlotAtMs,
    certificateExpiresAtMs: accounts.certificateExpiresAtMs(upstream.url),
    ...shown,
    skips: SKIP_CAUSES.map((cause) => ({ cause, count: accounts.skips.of(cause) })).filter(
      ({ count }) => count > 0,
    ),
    skippedSincePoll: history.skippedSincePoll,
    latency: history.latency,
    availability: history.availability(running.nowMs),
    lastPolls: history.lastPolls,
    lastFailures: history.lastFailures,
  };
}
