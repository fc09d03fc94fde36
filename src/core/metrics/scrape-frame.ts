/**
 * All numbers of one scrape, copied in one go into one array: they do not change while the text is written, and move to
 * another thread without a copy. What they belong to seldom changes, and is kept apart.
 */

import { ACCOUNTS_LENGTH, UpstreamAccounts } from "./accounts.ts";
import { type Burn, BURN_WINDOWS, type QuotaName } from "../answer/credit.ts";
import { HEALTH_STATES } from "../poll/health.ts";
import { known, UNKNOWN } from "./histogram.ts";
import { flag } from "./series.ts";
import type {
  BudgetSnapshot,
  MetricsSnapshot,
  OwnedSnapshot,
  ScrapedUpstream,
  UpstreamSnapshot,
  ValueSnapshot,
} from "./snapshot.ts";

export type ScrapeFrame = { readonly subjects: ScrapeSubjects; readonly numbers: Float64Array<ArrayBuffer> };

/** What the numbers belong to, in the same order. */
export type ScrapeSubjects = {
  readonly upstreams: readonly ScrapedUpstream[];
  readonly budgets: readonly ScrapedBudget[];
  readonly vantage: string | undefined;
};

type ScrapedBudget = {
  readonly name: string;
  readonly hasQuota: boolean;
  readonly rates: readonly string[];
  readonly quotas: readonly QuotaName[];
};

/** After the accounts: health, whether it is up, the next slot, when it is stalled. */
const UPSTREAM_LENGTH = ACCOUNTS_LENGTH + 4;
/** Of each value: it, when it was seen, and of each window how fast it goes down and when it is empty. */
const BURNS_LENGTH = 2 * BURN_WINDOWS.length;
const VALUE_LENGTH = 2 + BURNS_LENGTH;
/** Before the rates, and the quotas after them: what was advertised (two), the pause, the quota (four). */
const BUDGET_LENGTH = 7;
const RATE_LENGTH = 3;

/** Reuses the subjects of the frame before, if they are the same. */
export function takeFrame(snapshot: MetricsSnapshot, before?: ScrapeSubjects): ScrapeFrame {
  const subjects = areSubjectsOf(snapshot, before) ? before : subjectsOf(snapshot);
  const numbers = new Float64Array(lengthOf(subjects));
  let at = 0;
  for (const upstream of snapshot.upstreams) at = writeUpstream(upstream, numbers, at);
  for (const budget of snapshot.budgets) at = writeBudget(budget, numbers, at);
  return { subjects, numbers };
}

export function snapshotIn({ subjects, numbers }: ScrapeFrame): OwnedSnapshot {
  let at = 0;
  const upstreams = subjects.upstreams.map((upstream) => {
    const snapshot = readUpstream(upstream, numbers, at);
    at += lengthOfUpstream(upstream);
    return snapshot;
  });
  const budgets = subjects.budgets.map((budget) => {
    const snapshot = readBudget(budget, numbers, at);
    at += lengthOfBudget(budget);
    return snapshot;
  });
  return { upstreams, budgets, vantage: subjects.vantage };
}

/** By identity: a reload makes new objects of the upstreams that it changes. Budgets are compared by value. */
function areSubjectsOf(
  { upstreams, budgets, fleet }: MetricsSnapshot,
  subjects: ScrapeSubjects | undefined,
): subjects is ScrapeSubjects {
  return (
    subjects !== undefined &&
    subjects.vantage === fleet?.vantage &&
    subjects.upstreams.length === upstreams.length &&
    subjects.budgets.length === budgets.length &&
    upstreams.every(({ upstream }, index) => upstream === subjects.upstreams[index]) &&
    budgets.every((budget, index) => isSameBudget(budget, subjects.budgets[index]))
  );
}

function isSameBudget(
  { name, quota, rates, quotas = [] }: BudgetSnapshot,
  before: ScrapedBudget | undefined,
): boolean {
  return (
    before?.name === name &&
    before.hasQuota === (quota !== undefined) &&
    before.rates.length === rates.length &&
    rates.every(({ label }, index) => label === before.rates[index]) &&
    before.quotas.length === quotas.length &&
    quotas.every((each, index) => each.quota === before.quotas[index])
  );
}

function subjectsOf({ upstreams, budgets, fleet }: MetricsSnapshot): ScrapeSubjects {
  return {
    upstreams: upstreams.map(({ upstream }) => upstream),
    budgets: budgets.map(({ name, quota, rates, quotas = [] }) => ({
      name,
      hasQuota: quota !== undefined,
      rates: rates.map(({ label }) => label),
      quotas: quotas.map((each) => each.quota),
    })),
    vantage: fleet?.vantage,
  };
}

function lengthOf({ upstreams, budgets }: ScrapeSubjects): number {
  let length = 0;
  for (const upstream of upstreams) length += lengthOfUpstream(upstream);
  for (const budget of budgets) length += lengthOfBudget(budget);
  return length;
}

function lengthOfBudget({ rates, quotas }: ScrapedBudget): number {
  return BUDGET_LENGTH + RATE_LENGTH * rates.length + BURNS_LENGTH * quotas.length;
}

function lengthOfUpstream({ values }: ScrapedUpstream): number {
  return UPSTREAM_LENGTH + VALUE_LENGTH * (values?.length ?? 0);
}

function writeUpstream(
  { upstream, accounts, health, nextSlotAtMs, stalledAfterMs, values }: UpstreamSnapshot,
  numbers: Float64Array,
  at: number,
): number {
  accounts.copyTo(numbers, at);
  let to = at + ACCOUNTS_LENGTH;
  numbers[to++] = HEALTH_STATES.indexOf(health.state);
  numbers[to++] = flag(health.up) ?? UNKNOWN;
  numbers[to++] = nextSlotAtMs ?? UNKNOWN;
  numbers[to++] = stalledAfterMs;
  upstream.values?.forEach((_, place) => {
    const { value, seenAtMs, burns = [] } = values?.[place] ?? {};
    numbers[to++] = value ?? UNKNOWN;
    numbers[to++] = seenAtMs ?? UNKNOWN;
    to = writeBurns(burns, numbers, to);
  });
  return to;
}

function writeBurns(burns: readonly Burn[], numbers: Float64Array, at: number): number {
  BURN_WINDOWS.forEach((_window, index) => {
    numbers[at + 2 * index] = burns[index]?.perSecond ?? UNKNOWN;
    numbers[at + 2 * index + 1] = burns[index]?.emptyAtMs ?? UNKNOWN;
  });
  return at + BURNS_LENGTH;
}

function readUpstream(upstream: ScrapedUpstream, numbers: Float64Array, at: number): UpstreamSnapshot {
  const after = at + ACCOUNTS_LENGTH;
  const up = known(numbers[after + 1]);
  return {
    upstream,
    accounts: new UpstreamAccounts(numbers.subarray(at, after)),
    health: {
      state: HEALTH_STATES[numbers[after] ?? 0] ?? "unknown",
      up: up === undefined ? undefined : up === 1,
    },
    nextSlotAtMs: known(numbers[after + 2]),
    stalledAfterMs: numbers[after + 3] ?? UNKNOWN,
    ...(upstream.values !== undefined && {
      values: upstream.values.map((_, place) =>
        readValue(numbers, at + UPSTREAM_LENGTH + VALUE_LENGTH * place),
      ),
    }),
  };
}

function readValue(numbers: Float64Array, at: number): ValueSnapshot {
  return {
    value: known(numbers[at]),
    seenAtMs: known(numbers[at + 1]),
    burns: readBurns(numbers, at + 2),
  };
}

function readBurns(numbers: Float64Array, at: number): readonly Burn[] {
  return BURN_WINDOWS.map((window, index) => ({
    window,
    perSecond: known(numbers[at + 2 * index]),
    emptyAtMs: known(numbers[at + 2 * index + 1]),
  }));
}

function writeBudget(
  { advertisedLimit, advertisedRemaining, pausedUntilWallMs, quota, rates, quotas = [] }: BudgetSnapshot,
  numbers: Float64Array,
  at: number,
): number {
  let to = at;
  numbers[to++] = advertisedLimit ?? UNKNOWN;
  numbers[to++] = advertisedRemaining ?? UNKNOWN;
  numbers[to++] = pausedUntilWallMs;
  numbers[to++] = quota?.limit ?? UNKNOWN;
  numbers[to++] = quota?.used ?? UNKNOWN;
  numbers[to++] = quota?.unconfirmed ?? UNKNOWN;
  numbers[to++] = quota?.forecast ?? UNKNOWN;
  for (const { limit, cap, leases } of rates) {
    numbers[to++] = limit;
    numbers[to++] = cap;
    numbers[to++] = leases;
  }
  for (const { burns } of quotas) to = writeBurns(burns, numbers, to);
  return to;
}

function readBudget(
  { name, hasQuota, rates, quotas }: ScrapedBudget,
  numbers: Float64Array,
  at: number,
): BudgetSnapshot {
  const number = (place: number): number => numbers[at + place] ?? UNKNOWN;
  return {
    name,
    advertisedLimit: known(number(0)),
    advertisedRemaining: known(number(1)),
    pausedUntilWallMs: number(2),
    quota: hasQuota
      ? { limit: number(3), used: number(4), unconfirmed: number(5), forecast: known(number(6)) }
      : undefined,
    rates: rates.map((label, index) => {
      const from = BUDGET_LENGTH + RATE_LENGTH * index;
      return { label, limit: number(from), cap: number(from + 1), leases: number(from + 2) };
    }),
    ...(quotas.length > 0 && {
      quotas: quotas.map((quota, index) => ({
        quota,
        burns: readBurns(numbers, at + BUDGET_LENGTH + RATE_LENGTH * rates.length + BURNS_LENGTH * index),
      })),
    }),
  };
}
