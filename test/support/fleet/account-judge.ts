import type { SlotAccounts } from "../metrics/slot-accounts.ts";
import type { SeenRequest } from "./witness.ts";

/** What one replica's metrics said at some moment in between. Monotonic, of this machine. */
export type Scrape = {
  readonly life: string;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly accounts: readonly PollAccounts[];
};

export type PollAccounts = SlotAccounts & {
  /** Of its polls: without them, all were answered. */
  readonly failed: number;
};

/** What one life wrote into its log until its end. */
export type LoggedLife = {
  readonly life: string;
  /** Killed: the last lines may never have been written. */
  readonly isCutShort: boolean;
  readonly polls: readonly LoggedPolls[];
};

export type LoggedPolls = { readonly upstream: string; readonly ok: number; readonly failed: number };

/** At each scrape of each replica, against what the upstream saw from it: none, ever. */
export function scrapeFaults(seen: readonly SeenRequest[], scrapes: readonly Scrape[]): readonly string[] {
  const requestsOf = Map.groupBy(seen, ({ life, upstream }) => `${life} ${upstream}`);
  const faults: string[] = [];
  for (const ofLife of Map.groupBy(scrapes, ({ life }) => life).values()) {
    /** When each upstream's counters began: its series end where the replica lets go. */
    const reigns = new Map<string, { readonly afterMs: number; readonly beforeMs: number; slots: number }>();
    let previous: Scrape | undefined;
    for (const scrape of ofLife) {
      for (const account of scrape.accounts) {
        const open = reigns.get(account.upstream);
        const isNew = open === undefined || account.slots < open.slots;
        const reign = isNew
          ? { afterMs: previous?.fromMs ?? 0, beforeMs: previous?.untilMs ?? 0, slots: 0 }
          : open;
        reign.slots = account.slots;
        reigns.set(account.upstream, reign);
        const requests = requestsOf.get(`${scrape.life} ${account.upstream}`) ?? [];
        faults.push(...accountFaults(account, requests, scrape, reign));
      }
      const present = new Set(scrape.accounts.map(({ upstream }) => upstream));
      for (const upstream of reigns.keys()) if (!present.has(upstream)) reigns.delete(upstream);
      previous = scrape;
    }
  }
  return faults;
}

/** Of a whole life: every request is a poll in its log, and every poll that was answered is a request. */
export function logFaults(seen: readonly SeenRequest[], lives: readonly LoggedLife[]): readonly string[] {
  const faults: string[] = [];
  for (const { life, isCutShort, polls } of lives) {
    const requestsOf = Map.groupBy(
      seen.filter((request) => request.life === life),
      ({ upstream }) => upstream,
    );
    const logged = new Map(polls.map((each) => [each.upstream, each]));
    for (const upstream of new Set([...requestsOf.keys(), ...logged.keys()])) {
      const requests = requestsOf.get(upstream)?.length ?? 0;
      const { ok, failed } = logged.get(upstream) ?? { ok: 0, failed: 0 };
      if (requests < ok || (requests > ok + failed && !isCutShort)) {
        faults.push(
          `${life} ${upstream}: ${ok} polls were answered, ${failed} failed, ${requests} requests were seen`,
        );
      }
    }
  }
  return faults;
}

function accountFaults(
  { upstream, slots, polls, skipped, inFlight, failed }: PollAccounts,
  requests: readonly SeenRequest[],
  { life, fromMs, untilMs }: Scrape,
  { afterMs, beforeMs }: { readonly afterMs: number; readonly beforeMs: number },
): readonly string[] {
  const faults: string[] = [];
  const where = `${life} ${upstream}`;
  if (slots !== polls + skipped + inFlight) {
    faults.push(
      `${where}: ${slots} slots are not ${polls} polls, ${skipped} skipped and ${inFlight} in flight`,
    );
  }
  // Whatever ended before the scrape began must be in it; what it counts as answered must have come before its end.
  const atLeast = requests.filter(({ atMs, endedAtMs }) => atMs > beforeMs && endedAtMs < fromMs).length;
  const atMost = requests.filter(({ atMs }) => atMs > afterMs && atMs < untilMs).length;
  if (polls + inFlight < atLeast) {
    faults.push(`${where}: ${polls} polls and ${inFlight} in flight, and ${atLeast} requests were seen`);
  }
  if (polls - failed > atMost) {
    faults.push(`${where}: ${polls - failed} polls were answered, and ${atMost} requests were seen`);
  }
  return faults;
}
