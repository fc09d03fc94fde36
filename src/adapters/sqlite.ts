import type { Log } from "../core/log.ts";
import type { Clock } from "../core/ports.ts";
import type { StateStore } from "../core/state.ts";
import { SqliteStateStore } from "./sqlite-store.ts";
import { SqliteThread, type Died } from "./sqlite-thread.ts";

export type StateStoreOptions = { readonly path: string; readonly log: Log; readonly clock: Clock };

export type OpenedStateStore =
  | { readonly kind: "opened"; readonly store: StateStore }
  | { readonly kind: "refused"; readonly message: string };

/** Some gigabytes are read in this time. */
const OPEN_AT_MOST_MS = 60_000;
const LATE: Died = { kind: "died", message: `no answer from its disk within ${OPEN_AT_MOST_MS / 1000} s` };

/** Opens or makes the state file, and reads what former lives left in it. */
export async function openStateStore({ path, log, clock }: StateStoreOptions): Promise<OpenedStateStore> {
  const thread = new SqliteThread(path);
  const opened = new AbortController();
  const late = clock.sleep(OPEN_AT_MOST_MS, opened.signal).then(() => LATE);
  const reply = await Promise.race([thread.open(clock.wallNow()), late]);
  opened.abort();
  switch (reply.kind) {
    case "opened":
      return { kind: "opened", store: new SqliteStateStore({ path, thread, clock, log }, reply) };
    case "refused":
      await thread.close();
      return reply;
    case "died":
      thread.abandon();
      return {
        kind: "refused",
        message: `cannot keep state: "${path}" must be a state file, received: ${reply.message}`,
      };
    default:
      return reply satisfies never;
  }
}
