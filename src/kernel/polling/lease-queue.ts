import type { Ask, Lease, Ledger } from "../budget/ledger.ts";
import { SKIPS } from "../exchange/outcome.ts";
import type { HeldBack, Ticket } from "../poll/ports.ts";
import type { Clock } from "../time/clock.ts";

export type Waiter = {
  readonly ask: Ask;
  /**
   * The deadline of its upstream: the earliest is served first. It must not move while the upstream waits, or one with
   * frequent slots would starve the others.
   */
  readonly dueMs: number;
  /** A confirmation is not worth waiting out a pause for. */
  readonly endsAtPause: boolean;
  granted(lease: Lease): void;
  /** Only if the wait ends at a pause, or cannot go on. */
  refused(reason: HeldBack): void;
};

/** Those who wait for the same. */
type Queue = {
  readonly ask: Ask;
  readonly waiters: Set<Waiter>;
  /** Why its most urgent slot has no lease yet. */
  reason: HeldBack;
  /** No lease before this moment; undefined while the ledger is asked. */
  notBeforeMs: number | undefined;
  /** The queues that let this one go first: they look again when it must wait itself, or waits no more. */
  readonly yielding: Set<Queue>;
  /** Ends the sleep of the loop that serves it. Most leases are free, and their slots need none. */
  wake: AbortController | undefined;
};

/**
 * Slots that wait for a lease, the earliest due first: then everything that the proof accepts fits between the pace
 * gaps. In order of age, frequent slots would wait until their next one replaces them.
 *
 * Each budget has one queue, and each combination of budgets that some upstream draws on has another one, as has
 * whatever else is asked for, such as a price: where there is no money for the dear ones, the others go on. Whoever needs
 * two budgets at once must find both of them free, so nobody who is due later may take one of them at a time
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
  /** The queues that need each budget. */
  readonly #byBudget = new Map<string, Set<Queue>>();

  constructor(ledger: Ledger, clock: Clock, onBug: (error: unknown) => void) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#onBug = onBug;
    ledger.onChange((budget) => {
      for (const queue of this.#byBudget.get(budget) ?? []) queue.wake?.abort();
    });
  }

  enter(waiter: Waiter): Ticket {
    const known = this.#queues.get(waiter.ask.key);
    const queue = known ?? this.#open(waiter.ask);
    queue.waiters.add(waiter);
    if (known === undefined) void this.#serve(queue);
    return { withdraw: () => this.#withdraw(queue, waiter) };
  }

  /** A lease that nobody waits for: now, or not at all. */
  async takeFree(ask: Ask): Promise<Lease | undefined> {
    if (ask.budgets.some((budget) => this.#byBudget.has(budget))) return undefined;
    const decision = await this.#ledger.take(ask);
    return decision.kind === "granted" ? decision.lease : undefined;
  }

  /** It is there for as long as somebody waits in it. */
  #open(ask: Ask): Queue {
    const { budgets, key } = ask;
    const queue: Queue = {
      ask,
      waiters: new Set(),
      reason: { cause: "budget", budget: budgets[0] },
      notBeforeMs: undefined,
      yielding: new Set(),
      wake: undefined,
    };
    this.#queues.set(key, queue);
    for (const budget of budgets) {
      const queues = this.#byBudget.get(budget) ?? new Set();
      this.#byBudget.set(budget, queues.add(queue));
    }
    return queue;
  }

  #remove(queue: Queue): void {
    const { budgets, key } = queue.ask;
    this.#queues.delete(key);
    for (const budget of budgets) {
      const queues = this.#byBudget.get(budget);
      queues?.delete(queue);
      if (queues?.size === 0) this.#byBudget.delete(budget);
    }
    endYielding(queue);
  }

  #withdraw(queue: Queue, waiter: Waiter): HeldBack {
    queue.waiters.delete(waiter);
    if (queue.waiters.size === 0) queue.wake?.abort();
    // The next slot may be less urgent than the queues that let this one go first.
    endYielding(queue);
    return queue.reason;
  }

  async #serve(queue: Queue): Promise<void> {
    try {
      while (queue.waiters.size > 0) await this.#serveNext(queue);
      this.#remove(queue);
    } catch (error) {
      this.#onBug(error);
      // Whoever is refused may enter again at once: in a queue that is served.
      this.#remove(queue);
      const { budget } = queue.reason;
      this.#refuse(queue, [...queue.waiters], { cause: "ledger", budget });
    }
  }

  /** Grants one lease, or sleeps until there may be one. Whatever may bring it sooner aborts `wake`. */
  async #serveNext(queue: Queue): Promise<void> {
    if (queue.wake?.signal.aborted === true) queue.wake = undefined;
    const first = this.#firstInTheWay(queue);
    if (first !== undefined) {
      first.queue.yielding.add(queue);
      queue.reason = { cause: "budget", budget: first.budget };
      queue.notBeforeMs = first.untilMs;
      return await this.#sleepUntil(queue, first.untilMs);
    }
    queue.notBeforeMs = undefined;
    const asked = this.#ledger.take(queue.ask);
    // Whoever gives up meanwhile has waited for this.
    if (asked instanceof Promise) queue.reason = { cause: "ledger", budget: queue.ask.budgets[0] };
    // From here on a change must end the sleep, also one that comes before it begins.
    if (asked instanceof Promise || asked.kind === "wait") queue.wake ??= new AbortController();
    const decision = await asked;
    if (decision.kind === "granted") {
      queue.notBeforeMs = this.#clock.now();
      // Those who let it go first have nothing to look for yet: what they wait for was taken just now.
      queue.yielding.clear();
      return this.#grantFirst(queue, decision.lease);
    }
    // What holds back the right to send has no end that is known: nobody lets others go first for that long.
    queue.notBeforeMs = decision.cause === "ledger" ? Infinity : decision.untilMs;
    queue.reason = decision;
    if (SKIPS[decision.cause].isPause) {
      const atPause = [...queue.waiters].filter((waiter) => waiter.endsAtPause);
      this.#refuse(queue, atPause, decision);
    }
    endYielding(queue);
    if (queue.waiters.size > 0) await this.#sleepUntil(queue, decision.untilMs);
  }

  #sleepUntil(queue: Queue, untilMs: number): Promise<void> {
    queue.wake ??= new AbortController();
    return this.#clock.sleep(untilMs - this.#clock.now(), queue.wake.signal);
  }

  /** A queue whose most urgent slot a lease for this one would delay, and until when this one waits for it. */
  #firstInTheWay(
    queue: Queue,
  ): { readonly queue: Queue; readonly budget: string; readonly untilMs: number } | undefined {
    for (const budget of queue.ask.budgets) {
      const queues = this.#byBudget.get(budget);
      if (queues === undefined || queues.size === 1) continue;
      const takenUntilMs = this.#clock.now() + this.#ledger.paceGapMs([budget]);
      for (const other of queues) {
        if (other === queue || !isMoreUrgent(other, queue)) continue;
        const { notBeforeMs } = other;
        if (notBeforeMs !== undefined && notBeforeMs >= takenUntilMs) continue;
        return { queue: other, budget, untilMs: takenUntilMs };
      }
    }
    return undefined;
  }

  /** One that breaks keeps neither the lease nor the others waiting. They may all have left while the ledger was asked. */
  #grantFirst({ waiters }: Queue, lease: Lease): void {
    const first = mostUrgent(waiters);
    if (first === undefined) return lease.settle("unsent");
    waiters.delete(first);
    try {
      first.granted(lease);
    } catch (error) {
      lease.settle("unsent");
      this.#onBug(error);
    }
  }

  #refuse({ waiters }: Queue, refused: readonly Waiter[], reason: HeldBack): void {
    for (const waiter of refused) waiters.delete(waiter);
    for (const waiter of refused) {
      try {
        waiter.refused(reason);
      } catch (error) {
        this.#onBug(error);
      }
    }
  }
}

function endYielding(queue: Queue): void {
  for (const other of queue.yielding) other.wake?.abort();
  queue.yielding.clear();
}

/** Two that are equally urgent must not let each other go first. */
function isMoreUrgent(a: Queue, b: Queue): boolean {
  const [aDueMs, bDueMs] = [mostUrgent(a.waiters)?.dueMs, mostUrgent(b.waiters)?.dueMs];
  if (aDueMs === undefined || bDueMs === undefined) return false;
  return aDueMs < bDueMs || (aDueMs === bDueMs && a.ask.key < b.ask.key);
}

function mostUrgent(waiters: ReadonlySet<Waiter>): Waiter | undefined {
  let first: Waiter | undefined;
  for (const waiter of waiters) if (first === undefined || waiter.dueMs < first.dueMs) first = waiter;
  return first;
}
