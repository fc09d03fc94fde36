import { type Families, sumOfSamples } from "./exposition-parser.ts";

/** What one scrape says of one upstream's slots. */
export type SlotAccounts = {
  readonly upstream: string;
  readonly slots: number;
  readonly polls: number;
  readonly skipped: number;
  readonly inFlight: number;
};

export function accountsOf(families: Families): readonly SlotAccounts[] {
  const names = families.get("pacewatch_slots_total")?.samples.map(({ labels }) => labels["upstream"] ?? "");
  return (names ?? []).map((upstream) => {
    const sum = (name: string): number => sumOfSamples(families, `pacewatch_${name}`, { upstream });
    return {
      upstream,
      slots: sum("slots_total"),
      polls: sum("polls_total"),
      skipped: sum("polls_skipped_total"),
      inFlight: sum("polls_in_flight"),
    };
  });
}

export function accountOf(families: Families, upstream: string): SlotAccounts {
  const found = accountsOf(families).find((account) => account.upstream === upstream);
  if (found === undefined) throw new Error(`the scrape has no slots of "${upstream}"`);
  return found;
}

/** Those that promise 2 is broken for: none, ever. */
export function openAccounts(families: Families): readonly SlotAccounts[] {
  return accountsOf(families).filter(
    ({ slots, polls, skipped, inFlight }) => slots !== polls + skipped + inFlight || inFlight < 0,
  );
}
