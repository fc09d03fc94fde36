import type { Lease, LeaseDecision, Ledger } from "../../core/budget/ledger.ts";
import type { Held, Ticket } from "../../core/poll/ports.ts";
import type { Clock } from "../../core/time/clock.ts";

export type Waiter = {
  /** Each is needed. */
  readonly budgets: readonly string[];
  /**
   * The deadline of its upstream: the earliest is served first. It must not move while the upstream waits, or one with
   * frequent slots would starve the others.
   */
  readonly dueAtMs: number;
  /** A confirmation is not worth waiting out a pause for. */
  readonly endsAtPause: boolean;
  granted(lease: Lease): void;
  /** Only if the wait ends at a pause, or cannot go on. */
  refused(held: Held): void;
};

/** Those who wait for leases of the same budgets. */
type Queue = {
  readonly key: string;
  readonly budgets: readonly string[];
  readonly waiters: Waiter[];
  held: Held;
  /** No lease before this moment; undefined while it is asked. */
  notBeforeMs: number | undefined;
  /** Those that let this one go first, until it has been answered. */
  readonly behind: Set<Queue>;
  /** Ends the sleep of the loop that serves this queue; undefined while there is none. */
  wake: AbortController | undefined;
};

/**
 * Slots that wait for a lease, the earliest due first: then everything that the proof accepts fits between the pace
 * gaps. In order of age, frequent slots would wait until their next one replaces them.
 *
 * Each budget has one queue, and each combination of budgets that some upstream draws on has another one. Whoever
 * needs two budgets at once must find both of them free, so nobody who is due later may take one of them at a time
 * that would delay him:
 *
 *      the account   ──█───────█───────░───────█      █ taken, with its pace gap; ░ free, but the next gap would
 *      the model     ──█───────────────────────█        reach past the moment at which the model is free again
 */
export class LeaseQueue {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #onBug: (error: unknown) => void;
  readonly #queues = new Map<string, Queue>();
  /** By budget: the queues that need it. */
  readonly #drawers = new Map<string, Set<Queue>>();

  constructor(ledger: Ledger, clock: Clock, onBug: (error: unknown) => void) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#onBug = onBug;
    ledger.onChange((budget) => {
      for (const queue of this.#drawers.get(budget) ?? []) queue.wake?.abort();
    });
  }

  /** Undefined where the lease was there at once: then it is granted already. */
  enter(waiter: Waiter): Ticket | undefined {
    let asked: LeaseDecision | Promise<LeaseDecision> | undefined;
    if (this.#nobodyWaitsFor(waiter.budgets)) {
      asked = this.#ask(waiter.budgets);
      if ("kind" in asked && asked.kind === "granted") {
        this.#grant(waiter, asked.lease);
        return undefined;
      }
    }
    const queue = this.#queueOf(waiter.budgets);
    queue.waiters.push(waiter);
    if (queue.wake === undefined) void this.#serve(queue, asked);
    return { withdraw: () => this.#withdraw(queue, waiter) };
  }

  #nobodyWaitsFor(budgets: readonly string[]): boolean {
    for (const budget of budgets) if (this.#drawers.has(budget)) return false;
    return true;
  }

  /** Never throws, so that there is one place where a ledger that breaks is heard of. */
  #ask(budgets: readonly string[]): LeaseDecision | Promise<LeaseDecision> {
    try {
      return this.#ledger.take(budgets);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #queueOf(budgets: readonly string[]): Queue {
    const key = budgets.join(" ");
    const known = this.#queues.get(key);
    if (known !== undefined) return known;
    const queue: Queue = {
      key,
      budgets,
      waiters: [],
      held: { cause: "budget", budget: budgets[0] ?? "" },
      notBeforeMs: undefined,
      behind: new Set(),
      wake: undefined,
    };
    this.#queues.set(key, queue);
    for (const budget of budgets) {
      const drawers = this.#drawers.get(budget) ?? new Set();
      this.#drawers.set(budget, drawers.add(queue));
    }
    return queue;
  }

  #remove(queue: Queue): void {
    this.#queues.delete(queue.key);
    for (const budget of queue.budgets) {
      const drawers = this.#drawers.get(budget);
      drawers?.delete(queue);
      if (drawers?.size === 0) this.#drawers.delete(budget);
    }
    letGo(queue);
  }

  #withdraw(queue: Queue, waiter: Waiter): Held {
    const index = queue.waiters.indexOf(waiter);
    if (index >= 0) queue.waiters.splice(index, 1);
    if (queue.waiters.length === 0) queue.wake?.abort();
    // What is due next may be less urgent than those that let this queue go first.
    letGo(queue);
    return queue.held;
  }

  /** `asked`: what the ledger was asked for this queue already. */
  async #serve(queue: Queue, asked?: LeaseDecision | Promise<LeaseDecision>): Promise<void> {
    try {
      if (asked !== undefined) await this.#serveNext(queue, asked);
      while (queue.waiters.length > 0) await this.#serveNext(queue);
    } catch (error) {
      this.#onBug(error);
      const { budget } = queue.held;
      for (const waiter of queue.waiters.splice(0)) this.#refuse(waiter, { cause: "ledger", budget });
    }
    queue.wake = undefined;
    this.#remove(queue);
  }

  async #serveNext(queue: Queue, asked?: LeaseDecision | Promise<LeaseDecision>): Promise<void> {
    // Made before the ledger is asked: a change during its answer must end the sleep.
    const wake = queue.wake === undefined || queue.wake.signal.aborted ? new AbortController() : queue.wake;
    queue.wake = wake;
    const first = asked === undefined ? this.#firstInTheWay(queue) : undefined;
    if (first !== undefined) {
      first.queue.behind.add(queue);
      queue.held = { cause: "budget", budget: first.budget };
      queue.notBeforeMs = first.untilMs;
      return await this.#clock.sleep(first.untilMs - this.#clock.now(), wake.signal);
    }
    queue.notBeforeMs = undefined;
    const decision = await (asked ?? this.#ledger.take(queue.budgets));
    queue.notBeforeMs = decision.kind === "wait" ? decision.untilMs : this.#clock.now();
    if (decision.kind === "granted") {
      const waiter = takeMostUrgent(queue.waiters);
      if (waiter === undefined) decision.lease.settle("unsent");
      else this.#grant(waiter, decision.lease);
      return letGo(queue);
    }
    queue.held = decision;
    if (decision.cause === "backoff") this.#dismissThoseThatEndAtPause(queue);
    letGo(queue);
    if (queue.waiters.length === 0) return;
    await this.#clock.sleep(decision.untilMs - this.#clock.now(), wake.signal);
  }

  /** A queue whose most urgent slot a lease for this one would delay, and until when this one waits for it. */
  #firstInTheWay(
    queue: Queue,
  ): { readonly queue: Queue; readonly budget: string; readonly untilMs: number } | undefined {
    for (const budget of queue.budgets) {
      const drawers = this.#drawers.get(budget);
      if (drawers === undefined || drawers.size === 1) continue;
      const takenUntilMs = this.#clock.now() + this.#ledger.restraint([budget]).paceGapMs;
      for (const other of drawers) {
        if (other === queue || !isMoreUrgent(other, queue)) continue;
        const { notBeforeMs } = other;
        if (notBeforeMs !== undefined && notBeforeMs >= takenUntilMs) continue;
        return { queue: other, budget, untilMs: takenUntilMs };
      }
    }
    return undefined;
  }

  #dismissThoseThatEndAtPause({ waiters, held }: Queue): void {
    const dismissed = waiters.filter((waiter) => waiter.endsAtPause);
    for (const waiter of dismissed) waiters.splice(waiters.indexOf(waiter), 1);
    for (const waiter of dismissed) this.#refuse(waiter, held);
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

  #refuse(waiter: Waiter, held: Held): void {
    try {
      waiter.refused(held);
    } catch (error) {
      this.#onBug(error);
    }
  }
}

/** Those that let it go first look again: it has been answered, or waits no more. */
function letGo(queue: Queue): void {
  for (const other of queue.behind) other.wake?.abort();
  queue.behind.clear();
}

/** Two that are equally urgent must not let each other go first. */
function isMoreUrgent(a: Queue, b: Queue): boolean {
  const [aDueMs, bDueMs] = [mostUrgent(a.waiters)?.dueAtMs, mostUrgent(b.waiters)?.dueAtMs];
  if (aDueMs === undefined || bDueMs === undefined) return false;
  return aDueMs < bDueMs || (aDueMs === bDueMs && a.key < b.key);
}

function mostUrgent(waiters: readonly Waiter[]): Waiter | undefined {
  let first = waiters[0];
  for (const waiter of waiters) if (first !== undefined && waiter.dueAtMs < first.dueAtMs) first = waiter;
  return first;
}

function takeMostUrgent(waiters: Waiter[]): Waiter | undefined {
  const first = mostUrgent(waiters);
  if (first !== undefined) waiters.splice(waiters.indexOf(first), 1);
  return first;
}
