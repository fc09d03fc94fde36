import type { Equivalent } from "./choose.ts";

/** Each was looked at: no test can see it, as nobody can. */
export const EQUIVALENTS: readonly Equivalent[] = [
  {
    file: "src/features/fleet/redis/driver.ts",
    text: "destroy();",
    change: "left out: destroy();",
    why: "the client closes itself where it cannot connect; this is for a version of it that would not",
  },
  {
    file: "src/transport/secrets/finder.ts",
    text: 'return code >= 0x20 && code <= 0x7e ? String.fromCharCode(code) : "";',
    change: ">= becomes >",
    why: "what is searched for runs of a key is searched without spaces",
  },
  {
    file: "src/app/polling.ts",
    text: "if (stopping.aborted || still.length === 0) return;",
    change: "|| becomes &&",
    why: "to gain nothing polls nothing, and what is gained while all stops is closed at once",
  },
  {
    file: "src/app/views.ts",
    text: "if (kept.seenAtMs > (known.get(kept.quota)?.seenAtMs ?? 0)) known.set(kept.quota, kept);",
    change: "0 becomes 1",
    why: "nothing was seen in the first millisecond of 1970",
  },
  {
    file: "src/kernel/schedule/cron-days.ts",
    text: "const first = this.from(0) ?? 0;",
    change: "0 becomes 1",
    why: "what is measured goes once around, wherever it begins, and some day matches",
  },
  {
    file: "src/kernel/time/duration.ts",
    text: "return unit !== undefined && Object.hasOwn(UNITS_MS, unit);",
    change: "&& becomes ||",
    why: "the expression before it lets only units through; this line tells the compiler",
  },
  {
    file: "src/features/auth/token-source.ts",
    text: "if (head === undefined) return 0;",
    change: "0 becomes 1",
    why: "a pause of a millisecond is over long before the next request is due, a minute later",
  },
];
