import type { Families } from "../../test/support/metrics/exposition-parser.ts";
import { isResident, isWithoutConfirmations } from "./config.ts";

const PERIOD_MS = 1_000;

/** What the API says of one upstream, all of one moment. */
export type Account = {
  readonly slots: number;
  readonly waiting: number;
  readonly polls: number;
  readonly inFlight: number;
  readonly skipped: number;
  /** Polls that came to sending their request: to the phase of waiting for an answer. As the metrics say. */
  readonly sent: number;
  /** Polls that were under way while the process stood still. They are in no phase, and may have come to sending or not. */
  readonly suspended: number;
  readonly nextSlotAtMs: number;
};

export type Accounts = ReadonlyMap<string, Account>;

type Listed = {
  readonly name: string;
  readonly counts: Omit<Account, "sent" | "suspended" | "nextSlotAtMs">;
  readonly nextSlotAtMs: number;
};

export function accountsIn(list: { readonly upstreams: readonly Listed[] }, families: Families): Accounts {
  const sent = counted(families, "pacewatch_poll_phase_duration_seconds", "phase", "wait");
  const suspended = counted(families, "pacewatch_poll_reasons_total", "reason", "suspended");
  return new Map(
    list.upstreams.map(({ name, counts, nextSlotAtMs }) => {
      // What never was has no series.
      const told = { sent: sent.get(name) ?? 0, suspended: suspended.get(name) ?? 0 };
      return [name, { ...counts, ...told, nextSlotAtMs }] as const;
    }),
  );
}

function counted(
  families: Families,
  metric: string,
  label: string,
  of: string,
): ReadonlyMap<string | undefined, number> {
  const samples = families.get(metric)?.samples ?? [];
  return new Map(
    samples.flatMap(({ name, labels, value }) =>
      !name.endsWith("_sum") && labels[label] === of ? [[labels["upstream"], value]] : [],
    ),
  );
}

/**
 * What was met less what was asked for since the epoch: the same at every scrape. A slot that is due at this very
 * moment, and comes once the process gets to it, makes it one less for that moment; so of several scrapes the most
 * counts.
 */
function surplusOf(upstream: string, scrapes: readonly Accounts[]): number {
  const surpluses = scrapes.map((accounts) => {
    const { slots, waiting, nextSlotAtMs } = accountOf(accounts, upstream);
    return slots + waiting - Math.round(nextSlotAtMs / PERIOD_MS);
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
  return [...accounts].flatMap(([upstream, { sent, suspended }]) => {
    const requests = heard.get(upstream) ?? 0;
    return requests >= sent && requests <= sent + suspended
      ? []
      : [`${upstream}: it heard ${requests} requests, ${sent} were sent`];
  });
}

export function total(accounts: Accounts, what: Exclude<keyof Account, "nextSlotAtMs">): number {
  return [...accounts.values()].reduce((sum, account) => sum + account[what], 0);
}

export function residentsOf(accounts: Accounts): Accounts {
  return new Map([...accounts].filter(([upstream]) => isResident(upstream)));
}
