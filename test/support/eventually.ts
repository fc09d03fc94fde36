import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";

/** The first looks follow each other faster: most of what is waited for is there soon. */
const FIRST_LOOK_AFTER_MS = 2;
const LOOK_EVERY_MS = 50;
/** A scrape of hundreds of upstreams, read strictly, keeps this process busy, in which upstreams of the test may answer. */
const DEAR_LOOK_MS = 200;
/** Less than a test's own timeout, which could not say what the wait was for. */
const DEADLINE_MS = Number(process.env["TEST_WAIT_MS"] ?? 60_000);

type Look<Seen> = () => Promise<Seen> | Seen;

/** Looks again and again until what is seen is what was waited for: by itself, something true. */
export function eventually<Seen>(what: string, look: Look<Seen>): Promise<NonNullable<Seen>>;
export function eventually<Seen, Found extends Seen>(
  what: string,
  look: Look<Seen>,
  isFound: (seen: Seen) => seen is Found,
): Promise<Found>;
export function eventually<Seen>(
  what: string,
  look: Look<Seen>,
  isFound: (seen: Seen) => boolean,
): Promise<Seen>;
export async function eventually<Seen>(
  what: string,
  look: Look<Seen>,
  isFound: (seen: Seen) => boolean = Boolean,
): Promise<Seen> {
  const deadlineMs = performance.now() + DEADLINE_MS;
  for (let restMs = FIRST_LOOK_AFTER_MS; ; restMs = Math.min(2 * restMs, LOOK_EVERY_MS)) {
    const lookedAtMs = performance.now();
    const seen = await look();
    if (isFound(seen)) return seen;
    if (performance.now() > deadlineMs) {
      const last = inspect(seen, { depth: 4, maxArrayLength: 20, maxStringLength: 500 }).slice(0, 4_000);
      throw new Error(`waited ${DEADLINE_MS / 1_000} s in vain until ${what}; last seen: ${last}`);
    }
    const dearMs = performance.now() - lookedAtMs - DEAR_LOOK_MS;
    await sleep(Math.max(restMs, 2 * dearMs));
  }
}
