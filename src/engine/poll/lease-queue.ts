import type { Lease, Ledger, WaitCause } from "../../core/budget/ledger.ts";
import type { Ticket } from "../../core/poll/ports.ts";
import type { Clock } from "../../core/time/clock.ts";

export type Waiter = {
  readonly budget: string;
  /**
   * The deadline of its upstream: the earliest is served first. It must not move while the upstream waits, or one with
   * frequent slots would starve the others.
   */
  readonly dueAtMs: number;
  /** A confirmation is not worth waiting out a pause for. */
  readonly endsAtPause: boolean;
  granted(lease: Lease): void;
  /** Only if the wait ends at a pause, or cannot go on. */
  refused(cause: WaitCause): void;
};

type Queue = {
  readonly budget: string;
  readonly waiters: Waiter[];
  cause: WaitCause;
  /** Ends the sleep of the loop that serves this queue; undefined while there is none. */
  wake: AbortController | undefined;
};

/**
 * Slots that wait for a lease, in one queue for each budget, the earliest due first: then everything that the proof
 * accepts fits between the pace gaps. In order of age, frequent slots would wait until their next one replaces them.
 */
export class LeaseQueue {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #onBug: (error: unknown) => void;
  readonly #queues = new Map<string, Queue>();

  constructor(ledger: Ledger, clock: Clock, onBug: (error: unknown) => void) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#onBug = onBug;
    ledger.onChange((budget) => this.#queues.get(budget)?.wake?.abort());
  }

  enter(waiter: Waiter): Ticket {
    const queue = this.#queueOf(waiter.budget);
    queue.waiters.push(waiter);
    if (queue.wake === undefined) void this.#serve(queue);
    return { withdraw: () => this.#withdraw(queue, waiter) };
  }

  #queueOf(budget: string): Queue {
    const known = this.#queues.get(budget);
    if (known !== undefined) return known;
    const queue: Queue = { budget, waiters: [], cause: "budget", wake: undefined };
    this.#queues.set(budget, queue);
    return queue;
  }

  #withdraw(queue: Queue, waiter: Waiter): WaitCause {
    const index = queue.waiters.indexOf(waiter);
    if (index >= 0) queue.waiters.splice(index, 1);
    if (queue.waiters.length === 0) queue.wake?.abort();
    return queue.cause;
  }

  async #serve(queue: Queue): Promise<void> {
    try {
      while (queue.waiters.length > 0) await this.#serveNext(queue);
    } catch (error) {
      this.#onBug(error);
      for (const waiter of queue.waiters.splice(0)) this.#refuse(waiter, "ledger");
    }
    queue.wake = undefined;
    this.#queues.delete(queue.budget);
  }

  async #serveNext(queue: Queue): Promise<void> {
    // Made before the ledger is asked: a change during its answer must end the sleep.
    const wake = queue.wake === undefined || queue.wake.signal.aborted ? new AbortController() : queue.wake;
    queue.wake = wake;
    const decision = await this.#ledger.take(queue.budget);
    if (decision.kind === "granted") {
      const waiter = takeMostUrgent(queue.waiters);
      if (waiter === undefined) decision.lease.settle("unsent");
      else this.#grant(waiter, decision.lease);
      return;
    }
    queue.cause = decision.cause;
    if (decision.cause === "backoff") this.#dismissThoseThatEndAtPause(queue.waiters);
    if (queue.waiters.length === 0) return;
    await this.#clock.sleep(decision.untilMs - this.#clock.now(), wake.signal);
  }

  #dismissThoseThatEndAtPause(waiters: Waiter[]): void {
    const dismissed = waiters.filter((waiter) => waiter.endsAtPause);
    for (const waiter of dismissed) waiters.splice(waiters.indexOf(waiter), 1);
    for (const waiter of dismissed) this.#refuse(waiter, "backoff");
  }

  /** One that breaks keeps neither the lease nor the others waiting. */
  #grant(waiter: Waiter, lease: Lease): void {
    try {
      waiter.granted(lease);
    } catch (error) {
      lease.settle("unsent");
      this.#onBug(error);
    }
  }

  #refuse(waiter: Waiter, cause: WaitCause): void {
    try {
      waiter.refused(cause);
    } catch (error) {
      this.#onBug(error);
    }
  }
}

function takeMostUrgent(waiters: Waiter[]): Waiter | undefined {
  let index = 0;
  for (const [candidate, waiter] of waiters.entries()) {
    if (waiter.dueAtMs < (waiters[index]?.dueAtMs ?? 0)) index = candidate;
  }
  return waiters.splice(index, 1)[0];
}
