import { setTimeout as sleep } from "node:timers/promises";

const LOOK_EVERY_MS = 50;

/** Looks again and again until there is something to see; the test's own timeout ends a wait in vain. */
export async function eventually<Seen>(
  look: () => Promise<Seen | undefined> | Seen | undefined,
): Promise<Seen> {
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await sleep(LOOK_EVERY_MS);
  }
}
