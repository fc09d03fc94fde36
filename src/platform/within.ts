import type { Clock } from "../kernel/time/clock.ts";

export const LATE: unique symbol = Symbol("late");

/** What is late goes on, and nobody waits for it. */
export async function within<Done>(
  mostMs: number,
  work: Promise<Done>,
  clock: Clock,
): Promise<Done | typeof LATE> {
  const ended = new AbortController();
  const late = clock.sleep(mostMs, ended.signal).then((): typeof LATE => LATE);
  const first = await Promise.race([work, late]);
  // Without a reason it would make an exception, with its stack, each time.
  ended.abort("ended");
  return first;
}
