import type { UpstreamAccounts } from "../../src/kernel/metrics/accounts.ts";

/** Every slot is accounted for: it is waiting, in flight, polled or skipped. */
export function accountsClose(accounts: UpstreamAccounts): boolean {
  const { slots, totalPolls, inFlight, skips, waiting } = accounts;
  return slots === totalPolls + inFlight + skips.total && waiting >= 0 && inFlight >= 0;
}
