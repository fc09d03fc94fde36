import type { Lease, Ledger, WaitCause } from "../../core/budget/ledger.ts";
import type { Clock } from "../../core/time/clock.ts";

export type Waiter = {
  readonly budget: string;
  /**
   * By when its upstream wants to have been served: the most urgent goes first. It must not move on while the
   * upstream goes unserved, else one with frequent slots would starve the others.
   */
  readonly dueAtMs: number;
  /** A confirmation is not worth waiting out a pause for. */
  readonly endsAtPause: boolean;
  granted(lease: Lease): void;
  /** Only where the wait ends at a pause, or cannot go on. */
  refused(cause: WaitCause): void;
};

export interface Ticket {
  /** Leaves the line and tells what it waited for. */
  withdraw(): WaitCause;
}

type Line = {
  readonly budget: string;
  readonly waiters: Waiter[];
  cause: WaitCause;
  /** Ends the sleep of whoever serves this line; undefined while nobody does. */
  wake: AbortController | undefined;
};

/**
 * Slots that wait for a lease, a line for each budget. The earliest due is next: what the proof accepts then fits
 * between the pace gaps, where turns by age alone would let frequent slots wait until their next one replaces them.
 */
export class LeaseQueue {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #onBug: (error: unknown) => void;
  readonly #lines = new Map<string, Line>();

  constructor(ledger: Ledger, clock: Clock, onBug: (error: unknown) => void) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#onBug = onBug;
    ledger.onChange((budget) => this.#lines.get(budget)?.wake?.abort());
  }

  enter(waiter: Waiter): Ticket {
    const line = this.#lineOf(waiter.budget);
    line.waiters.push(waiter);
    if (line.wake === undefined) void this.#serve(line);
    return { withdraw: () => this.#withdraw(line, waiter) };
  }

  #lineOf(budget: string): Line {
    const known = this.#lines.get(budget);
    if (known !== undefined) return known;
    const line: Line = { budget, waiters: [], cause: "budget", wake: undefined };
    this.#lines.set(budget, line);
    return line;
  }

  #withdraw(line: Line, waiter: Waiter): WaitCause {
    const index = line.waiters.indexOf(waiter);
    if (index >= 0) line.waiters.splice(index, 1);
    if (line.waiters.length === 0) line.wake?.abort();
    return line.cause;
  }

  async #serve(line: Line): Promise<void> {
    try {
      while (line.waiters.length > 0) await this.#serveNext(line);
    } catch (error) {
      this.#onBug(error);
      for (const waiter of line.waiters.splice(0)) waiter.refused("ledger");
    }
    line.wake = undefined;
    this.#lines.delete(line.budget);
  }

  async #serveNext(line: Line): Promise<void> {
    // There before the ledger is asked: a change that comes while it answers must not be slept through.
    const wake = line.wake === undefined || line.wake.signal.aborted ? new AbortController() : line.wake;
    line.wake = wake;
    const decision = await this.#ledger.take(line.budget);
    if (decision.kind === "granted") {
      const waiter = takeMostUrgent(line.waiters);
      if (waiter === undefined) decision.lease.settle("unsent");
      else waiter.granted(decision.lease);
      return;
    }
    line.cause = decision.cause;
    if (decision.cause === "backoff") dismissThoseThatEndAtPause(line.waiters);
    if (line.waiters.length === 0) return;
    await this.#clock.sleep(decision.untilMs - this.#clock.now(), wake.signal);
  }
}

function takeMostUrgent(waiters: Waiter[]): Waiter | undefined {
  let index = 0;
  for (const [candidate, waiter] of waiters.entries()) {
    if (waiter.dueAtMs < (waiters[index]?.dueAtMs ?? 0)) index = candidate;
  }
  return waiters.splice(index, 1)[0];
}

function dismissThoseThatEndAtPause(waiters: Waiter[]): void {
  const dismissed = waiters.filter((waiter) => waiter.endsAtPause);
  for (const waiter of dismissed) waiters.splice(waiters.indexOf(waiter), 1);
  for (const waiter of dismissed) waiter.refused("backoff");
}
