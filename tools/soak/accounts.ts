import type { Families } from "../../test/support/metrics/exposition-parser.ts";
import { isResident, isWithoutConfirmations } from "./config.ts";

const PERIOD_SECONDS = 1;

/** What one scrape says of one upstream. */
export type Account = {
  readonly slots: number;
  readonly waiting: number;
  readonly polls: number;
  readonly inFlight: number;
  readonly skipped: number;
  /** Polls that came to sending their request: to the phase of waiting for an answer. */
  readonly sent: number;
  readonly nextSlotAtSeconds: number;
};

export type Accounts = ReadonlyMap<string, Account>;

export function accountsIn(families: Families): Accounts {
  const sums = (name: string): ReadonlyMap<string, number> => sumsByUpstream(families, `pacewatch_${name}`);
  const waiting = sums("slots_waiting");
  const polls = sums("polls_total");
  const inFlight = sums("polls_in_flight");
  const skipped = sums("polls_skipped_total");
  const sent = requestsSent(families);
  const nextSlot = sums("next_slot_timestamp_seconds");
  return new Map(
    [...sums("slots_total")].map(([upstream, slots]) => {
      const account = {
        slots,
        waiting: waiting.get(upstream) ?? Number.NaN,
        polls: polls.get(upstream) ?? Number.NaN,
        inFlight: inFlight.get(upstream) ?? Number.NaN,
        skipped: skipped.get(upstream) ?? Number.NaN,
        // A phase that never was has no series.
        sent: sent.get(upstream) ?? 0,
        nextSlotAtSeconds: nextSlot.get(upstream) ?? Number.NaN,
      };
      return [upstream, account] as const;
    }),
  );
}

function sumsByUpstream(families: Families, name: string): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { labels, value } of families.get(name)?.samples ?? []) {
    const upstream = labels["upstream"] ?? "";
    sums.set(upstream, (sums.get(upstream) ?? 0) + value);
  }
  return sums;
}

function requestsSent(families: Families): ReadonlyMap<string, number> {
  const phases = families.get("pacewatch_poll_phase_duration_seconds")?.samples ?? [];
  return new Map(
    phases.flatMap(({ name, labels, value }) =>
      name.endsWith("_count") && labels["phase"] === "wait" ? [[labels["upstream"] ?? "", value]] : [],
    ),
  );
}

/** Upstreams whose `slots = polls + in flight + skipped` does not hold. */
export function unbalanced(accounts: Accounts): readonly string[] {
  return [...accounts].flatMap(([upstream, { slots, polls, inFlight, skipped }]) =>
    slots === polls + inFlight + skipped ? [] : [upstream],
  );
}

/**
 * What was met less what was asked for since the epoch: the same at every scrape. A slot that is due at this very
 * moment, and comes once the process gets to it, makes it one less for that moment; so of several scrapes the most
 * counts.
 */
function surplusOf(upstream: string, scrapes: readonly Accounts[]): number {
  const surpluses = scrapes.map((accounts) => {
    const { slots, waiting, nextSlotAtSeconds } = accountOf(accounts, upstream);
    return slots + waiting - Math.round(nextSlotAtSeconds / PERIOD_SECONDS);
  });
  return Math.max(...surpluses);
}

function accountOf(accounts: Accounts, upstream: string): Account {
  const account = accounts.get(upstream);
  if (account === undefined) throw new Error(`cannot judge: the scrape must hold "${upstream}"`);
  return account;
}

/** Where slots that the schedule asked for in between neither were decided nor wait, or came twice. */
export function lostSlots(early: readonly Accounts[], late: readonly Accounts[]): readonly string[] {
  const upstreams = [...(early[0]?.keys() ?? [])].filter(isWithoutConfirmations);
  return upstreams.flatMap((upstream) => {
    const lost = surplusOf(upstream, early) - surplusOf(upstream, late);
    return lost === 0 ? [] : [`${upstream}: ${lost} slots were lost`];
  });
}

/** Where the upstream heard another number of requests than were sent by the program's own account. */
export function unheard(accounts: Accounts, heard: ReadonlyMap<string, number>): readonly string[] {
  return [...accounts].flatMap(([upstream, { sent }]) => {
    const requests = heard.get(upstream) ?? 0;
    return requests === sent ? [] : [`${upstream}: it heard ${requests} requests, ${sent} were sent`];
  });
}

export function total(accounts: Accounts, what: Exclude<keyof Account, "nextSlotAtSeconds">): number {
  return [...accounts.values()].reduce((sum, account) => sum + account[what], 0);
}

export function residentsOf(accounts: Accounts): Accounts {
  return new Map([...accounts].filter(([upstream]) => isResident(upstream)));
}
