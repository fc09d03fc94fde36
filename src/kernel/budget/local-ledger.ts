import type { Budget, Config, Rate } from "../config/config.ts";
import { capOf, partName } from "../config/part.ts";
import { graver } from "../poll/ports.ts";
import type { Clock } from "../time/clock.ts";
import { SECOND_MS } from "../time/duration.ts";
import { coldStartOfBudget, forgottenAfterMs } from "./cold-start.ts";
import { leaseRatesOf, Leases } from "./leases.ts";
import type {
  Ask,
  Constraint,
  Granted,
  Lease,
  LeaseDecision,
  Ledger,
  LedgerView,
  RateStatus,
  Reservation,
  Settlement,
  Wait,
} from "./ledger.ts";
import { type SendersOf, sendersByBudget, uncountedMsOf } from "./needs.ts";

/** Where several processes share the budgets, only the one that leads may send. */
export type Right = {
  /** When it may begin, by what those before it left. Monotonic. */
  startsAtMs(budget: string): number;
  maySend(budget: string): boolean;
};

export type LedgerDeps = {
  readonly constraints?: readonly Constraint[];
  readonly sendersOf?: SendersOf;
  /** By budget, the part of it that the process before this one had. */
  readonly partsBefore?: ReadonlyMap<string, string | undefined>;
  readonly right?: Right | undefined;
};

/** Where the right to send is gone, it is asked for again so soon. */
const ASK_AGAIN_MS = 250;

/** No request was sent yet by the part that the config names. */
const NO_PART = "";

type BudgetLeases = {
  budget: Budget;
  readonly leases: Leases;
  isSamePart: boolean;
  retired: readonly Leases[];
};

/** A process keeps every budget that it may use in memory: their leases, and beside them what else holds them back. */
export class LocalLedger implements Ledger, LedgerView {
  readonly #clock: Clock;
  readonly #constraints: readonly Constraint[];
  readonly #sendersOf: SendersOf;
  readonly #right: Right | undefined;
  readonly #budgets = new Map<string, BudgetLeases>();
  /** Budgets that were removed by a reload while requests were in flight, perhaps with the same key. */
  #retired: readonly Leases[] = [];
  /** Of budgets that are not in the config now, and may come back. */
  readonly #partsBefore: Map<string, string | undefined>;
  readonly #listeners: ((budget: string) => void)[] = [];
  /** The longest time in this process after which a sent request may still be counted. It never shrinks. */
  #longestUncountedMs = 0;

  constructor(
    config: Config,
    clock: Clock,
    { constraints = [], sendersOf = (upstreams) => upstreams, partsBefore, right }: LedgerDeps = {},
  ) {
    this.#clock = clock;
    this.#constraints = constraints;
    this.#sendersOf = sendersOf;
    this.#right = right;
    this.#partsBefore = new Map(partsBefore);
    this.#adopt(config, true);
  }

  /** At once, unless something must be written first. */
  take(ask: Ask): LeaseDecision | Promise<LeaseDecision> {
    // Nothing is written for a request that has to wait anyway.
    const wait = this.waitFor(ask);
    if (wait !== undefined) return wait;
    let reserved: Reservation[] | undefined;
    for (const constraint of this.#constraints) {
      const reservation = constraint.reserve?.(ask);
      if (reservation !== undefined) (reserved ??= []).push(reservation);
    }
    return reserved === undefined ? this.#grant(ask) : this.#takeReserved(ask, reserved);
  }

  /** What stands against such a lease now; undefined where `take` would grant it. */
  waitFor(ask: Ask): Wait | undefined {
    const nowMs = this.#clock.now();
    return this.#longestWait(ask, nowMs, true) ?? this.#mayNotSend(ask, nowMs);
  }

  heldBack(ask: Ask): Wait | undefined {
    return this.#longestWait(ask, this.#clock.now(), false);
  }

  isLowered(budgets: readonly string[]): boolean {
    const nowMs = this.#clock.now();
    return budgets.some((name) => {
      const { budget } = this.#get(name);
      return budget.rates.some((rate) => this.#capOf(budget, rate, nowMs) < capOf(rate.requests, budget));
    });
  }

  paceGapMs(budgets: readonly string[]): number {
    const nowMs = this.#clock.now();
    let gapMs = 0;
    for (const name of budgets) {
      const { budget } = this.#get(name);
      for (const rate of budget.rates) gapMs = Math.max(gapMs, rate.perMs / this.#capOf(budget, rate, nowMs));
    }
    return gapMs;
  }

  onChange(listener: (budget: string) => void): void {
    this.#listeners.push(listener);
  }

  changed(budget: string): void {
    for (const listener of this.#listeners) listener(budget);
  }

  inFlight(budget: string): number {
    return this.#get(budget).leases.inFlight;
  }

  partOf(name: string): string | undefined {
    const known = this.#budgets.get(name);
    // The notes of a fleet have the terms of every budget.
    if (known === undefined || this.#right !== undefined) return undefined;
    // Until it sends by this part, the next process has to wait as this one does.
    return known.isSamePart || known.leases.hasBegun ? partName(known.budget) : NO_PART;
  }

  /** How its rates are used at this moment; undefined for an unknown budget. */
  ratesOf(name: string): readonly RateStatus[] | undefined {
    const known = this.#budgets.get(name);
    const nowMs = this.#clock.now();
    return known?.budget.rates.map((rate) => ({
      label: rate.label,
      limit: rate.requests,
      cap: this.#capOf(known.budget, rate, nowMs),
      leases: known.leases.heldIn(rate.perMs, nowMs),
    }));
  }

  /** A budget that stays keeps its leases. A new or renamed one waits until earlier requests no longer count. */
  change(config: Config): void {
    this.#adopt(config, false);
    for (const budget of config.budgets) this.changed(budget.name);
  }

  /** By budget, for how long something of it counts, or it has to wait itself; infinite while a request is in flight. */
  get countsForMs(): ReadonlyMap<string, number> {
    const nowMs = this.#clock.now();
    return new Map(
      [...this.#budgets].map(([name, { leases }]) => [name, Math.max(0, leases.endAtMs - nowMs)]),
    );
  }

  /** Whoever needs several budgets waits for the latest moment, and is told the gravest cause. */
  #longestWait(ask: Ask, nowMs: number, alsoLeases: boolean): Wait | undefined {
    let longest: Wait | undefined;
    for (const name of ask.budgets) {
      const wait = this.#waitOf(name, ask, nowMs, alsoLeases);
      longest = longest && wait ? longestOf(longest, wait) : (longest ?? wait);
    }
    return longest;
  }

  #waitOf(name: string, ask: Ask, nowMs: number, alsoLeases: boolean): Wait | undefined {
    const known = this.#get(name);
    let gravest: Wait | undefined;
    for (const constraint of this.#constraints) gravest = graver(gravest, constraint.wait(name, ask, nowMs));
    if (gravest !== undefined || !alsoLeases) return gravest;
    const caps = known.budget.rates.map((rate) => this.#capOf(known.budget, rate, nowMs));
    const forgottenAtMs = retiredForgottenAtMs(known, nowMs);
    const untilMs = forgottenAtMs > nowMs ? forgottenAtMs : known.leases.freeAtMs(nowMs, caps);
    return untilMs > nowMs ? { kind: "wait", untilMs, cause: "budget", budget: name } : undefined;
  }

  #capOf(budget: Budget, rate: Rate, nowMs: number): number {
    let cap = capOf(rate.requests, budget);
    for (const constraint of this.#constraints)
      cap = constraint.capOf?.(budget.name, rate, cap, nowMs) ?? cap;
    return cap;
  }

  #mayNotSend({ budgets }: Ask, nowMs: number): Wait | undefined {
    const right = this.#right;
    const budget = right && budgets.find((each) => !right.maySend(each));
    if (budget === undefined) return undefined;
    return { kind: "wait", untilMs: nowMs + ASK_AGAIN_MS, cause: "ledger", budget };
  }

  /** What was reserved is released in the turn in which the request takes its place: both never count, and never neither. */
  async #takeReserved(ask: Ask, reserved: readonly Reservation[]): Promise<LeaseDecision> {
    let written: readonly boolean[] = [];
    try {
      written = await Promise.all(reserved.map((each) => each.written));
    } finally {
      for (const each of reserved) each.release();
    }
    // A reload may have removed it meanwhile: nobody may send on it any more.
    const absent = ask.budgets.find((budget) => !this.#budgets.has(budget));
    const budget = absent ?? reserved[written.indexOf(false)]?.budget;
    if (budget !== undefined)
      return { kind: "wait", untilMs: this.#clock.now() + SECOND_MS, cause: "ledger", budget };
    if (!reserved.every((each) => each.holds())) return this.take(ask);
    return this.waitFor(ask) ?? this.#grant(ask);
  }

  #grant(ask: Ask): LeaseDecision {
    const nowMs = this.#clock.now();
    const leases = ask.budgets.map((name) => this.#get(name).leases);
    for (const each of leases) each.grant(nowMs);
    const grants: Granted[] = [];
    for (const name of ask.budgets) for (const each of this.#constraints) grants.push(each.grant(name, ask));
    let [isOpen, hasEnded] = [true, false];
    const lease: Lease = {
      isUsable: () => this.#mayNotSend(ask, nowMs) === undefined,
      settle: (settlement: Settlement) => {
        if (!isOpen) return;
        isOpen = false;
        hasEnded = settlement === "unsent";
        const settledMs = this.#clock.now();
        for (const each of leases) each.settle(settlement, settledMs);
        for (const granted of grants) granted.settle(settlement);
        if (settlement === "unsent") for (const budget of ask.budgets) this.changed(budget);
      },
      ended: (poll) => {
        if (hasEnded) return;
        hasEnded = true;
        for (const granted of grants) granted.ended?.(poll);
      },
    };
    return { kind: "granted", lease };
  }

  #adopt(config: Config, isFirst: boolean): void {
    const nowMs = this.#clock.now();
    const senders = this.#sendersOf(config.upstreams);
    const byBudget = sendersByBudget(senders);
    this.#longestUncountedMs = Math.max(this.#longestUncountedMs, uncountedMsOf(senders, config.budgets));
    this.#retire(new Set(config.budgets.map((budget) => budget.name)));
    for (const budget of config.budgets) {
      const { name } = budget;
      const terms = { rates: leaseRatesOf(budget), lingerMs: budget.lingerMs };
      const kept = this.#budgets.get(name);
      if (kept !== undefined) {
        const isOtherPart = partName(budget) !== partName(kept.budget);
        if (isOtherPart) kept.isSamePart = false;
        kept.leases.change(terms, nowMs, forgottenAfterMs(terms, this.#longestUncountedMs), isOtherPart);
        kept.budget = budget;
        continue;
      }
      const isSamePart = this.#partsBefore.get(name) === partName(budget);
      this.#partsBefore.delete(name);
      const startsAtMs = isFirst ? this.#right?.startsAtMs(name) : undefined;
      const uncountedMs = uncountedMsOf(byBudget.get(name) ?? [], [budget]);
      const coldMs =
        startsAtMs !== undefined
          ? Math.max(0, startsAtMs - nowMs)
          : isFirst && isSamePart
            ? coldStartOfBudget(budget, uncountedMs).coldMs
            : forgottenAfterMs(terms, isFirst ? uncountedMs : this.#longestUncountedMs);
      const leases = new Leases(terms, nowMs, coldMs);
      this.#budgets.set(name, { budget, leases, isSamePart, retired: this.#retired });
    }
    for (const constraint of this.#constraints) constraint.change(config, byBudget, this);
  }

  #get(name: string): BudgetLeases {
    const known = this.#budgets.get(name);
    if (known === undefined) throw new Error(`cannot ask: budget "${name}" must be in the config`);
    return known;
  }

  #retire(staying: ReadonlySet<string>): void {
    const leaving = [...this.#budgets].filter(([name]) => !staying.has(name));
    for (const [name] of leaving) {
      const part = this.partOf(name);
      if (part !== undefined) this.#partsBefore.set(name, part);
      this.#budgets.delete(name);
    }
    const retired = [...this.#retired, ...leaving.map(([, { leases }]) => leases)];
    this.#retired = retired.filter((leases) => leases.countedByMs === Infinity);
  }
}

function longestOf(a: Wait, b: Wait): Wait {
  const [later, sooner] = b.untilMs > a.untilMs ? [b, a] : [a, b];
  return { ...(graver(later, sooner) ?? later), untilMs: later.untilMs };
}

/** A lower bound while one of their requests is in flight: a process that was stopped does not close it in time. */
function retiredForgottenAtMs(known: BudgetLeases, nowMs: number): number {
  if (known.retired.length === 0) return nowMs;
  const countedByMs = Math.max(...known.retired.map((leases) => leases.countedByMs));
  const fromMs = countedByMs === Infinity ? nowMs : countedByMs;
  const forgottenAtMs = fromMs + forgottenAfterMs(known.leases.terms, 0);
  if (forgottenAtMs <= nowMs) known.retired = [];
  return forgottenAtMs;
}
