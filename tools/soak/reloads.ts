import { setTimeout as sleep } from "node:timers/promises";
import type { ConfigFolder } from "../../test/support/config-folder.ts";
import { soakConfig, type SoakPlan } from "./config.ts";

/** The program must go on with what it has. */
const BROKEN_CONFIG = "budgets: [";
const BROKEN_EVERY = 3;

/** Writes one config after the other, every third of them broken, until the signal comes; answers how many. */
export async function reload(
  folder: ConfigFolder,
  plan: SoakPlan,
  everyMs: number,
  signal: AbortSignal,
): Promise<number> {
  let reloads = 0;
  for (;;) {
    await sleep(everyMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return reloads;
    reloads += 1;
    const isBroken = reloads % BROKEN_EVERY === 0;
    await folder.write(isBroken ? BROKEN_CONFIG : soakConfig(plan, reloads));
  }
}
