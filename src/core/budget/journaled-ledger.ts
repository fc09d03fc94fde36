import type { LearnedWindow } from "./learned-windows.ts";
import type { Advice } from "../advice/advice.ts";
import type { Config, Quota } from "../config/config.ts";
import type { Clock } from "../time/clock.ts";
import {
  type BudgetRestraint,
  type BudgetState,
  type LeaseDecision,
  leaseOf,
  type RunningLedger,
  type Wait,
} from "./ledger.ts";
import type { QuotaCalendar } from "./quota-calendar.ts";
import { CLAIM_MS, type QuotaReading } from "./quota-journal.ts";
import { type QuotaBuckets, QuotaCount } from "./quota.ts";

/** The port of the file that quotas are kept in. */
export interface QuotaFile {
  /** By budget and hour: requests that were in flight when an earlier process was killed. */
  readonly unconfirmedQuotas: ReadonlyMap<string, QuotaBuckets>;
  /** Resolves when all that is counted by now is in the file, or the file is down. */
  written(): Promise<void>;
}

type Account = { readonly unconfirmed: QuotaCount; inFlight: number; claimed: number; version: number };

/** Every request of a budget with a quota is in the state file before it may leave, see quota-journal.ts. */
export class JournaledLedger implements RunningLedger {
  readonly #ledger: RunningLedger;
  readonly #file: QuotaFile;
  readonly #clock: Clock;
  /** Of budgets that have a quota now. */
  #quotas: ReadonlyMap<string, Quota>;
  readonly #accounts = new Map<string, Account>();

  constructor(ledger: RunningLedger, config: Config, file: QuotaFile, clock: Clock) {
    this.#ledger = ledger;
    this.#file = file;
    this.#clock = clock;
    ledger.calendar.onSet(() => this.#readAnew());
    this.#quotas = quotasOf(config);
  }

  get calendar(): QuotaCalendar {
    return this.#ledger.calendar;
  }

  take(budgets: readonly string[]): LeaseDecision | Promise<LeaseDecision> {
    const counted = budgets.filter((budget) => this.#quotas.has(budget));
    return counted.length === 0 ? this.#ledger.take(budgets) : this.#takeCounted(budgets, counted);
  }

  restraint(budgets: readonly string[]): BudgetRestraint {
    return this.#ledger.restraint(budgets);
  }

  applyAdvice(budgets: readonly string[], advice: Advice): void {
    this.#ledger.applyAdvice(budgets, advice);
  }

  onChange(listener: (budget: string) => void): void {
    this.#ledger.onChange(listener);
  }

  state(budget: string): BudgetState | undefined {
    const state = this.#ledger.state(budget);
    const quota = this.#quotas.get(budget);
    if (state === undefined || quota === undefined) return state;
    const { unconfirmed } = this.#accountOf(budget);
    return { ...state, quotaUnconfirmed: unconfirmed.used(this.calendar.now(), quota.perMs) };
  }

  quotaBuckets(budget: string): QuotaBuckets | undefined {
    return this.#ledger.quotaBuckets(budget);
  }

  learnedWindows(budget: string): readonly LearnedWindow[] | undefined {
    return this.#ledger.learnedWindows(budget);
  }

  resume(budget: string): boolean {
    return this.#ledger.resume(budget);
  }

  change(config: Config): void {
    this.#ledger.change(config);
    this.#quotas = quotasOf(config);
    this.#readAnew();
  }

  #readAnew(): void {
    for (const account of this.#accounts.values()) account.version += 1;
  }

  /** For the file. */
  readings(): ReadonlyMap<string, QuotaReading> {
    const calendarMs = this.calendar.now();
    return new Map(
      [...this.#quotas.keys()].flatMap((budget) => {
        const buckets = this.#ledger.quotaBuckets(budget);
        if (buckets === undefined) return [];
        const { unconfirmed, inFlight, claimed, version } = this.#accountOf(budget);
        const reading = { buckets, unconfirmed: unconfirmed.buckets, inFlight, claimed, version, calendarMs };
        return [[budget, reading] as const];
      }),
    );
  }

  async #takeCounted(budgets: readonly string[], counted: readonly string[]): Promise<LeaseDecision> {
    const spent = counted.map((budget) => this.#spentWait(budget)).find((wait) => wait !== undefined);
    if (spent !== undefined) return spent;
    const accounts = counted.map((budget) => this.#accountOf(budget));
    change(accounts, { claimed: 1, inFlight: 0 });
    let inFlight = 0;
    let decision: LeaseDecision;
    try {
      await this.#claimWritten(accounts);
      const taken = this.#absentWait(budgets) ?? this.#ledger.take(budgets);
      // Without a pause in between, a request is never both claimed and counted.
      decision = taken instanceof Promise ? await taken : taken;
      if (decision.kind === "granted") inFlight = 1;
    } finally {
      change(accounts, { claimed: -1, inFlight });
    }
    if (decision.kind === "wait") {
      void this.#file.written();
      return decision;
    }
    const { lease } = decision;
    const journaled = leaseOf(
      () => lease.isUsable(),
      (settlement) => {
        lease.settle(settlement);
        change(accounts, { claimed: 0, inFlight: -1 });
        void this.#file.written();
      },
    );
    return { kind: "granted", lease: journaled };
  }

  /** Written again after a stop: a claim must not leave the quota before its request does. */
  async #claimWritten(accounts: readonly Account[]): Promise<void> {
    let writtenMs: number;
    do {
      change(accounts, { claimed: 0, inFlight: 0 });
      writtenMs = this.#clock.now();
      await this.#file.written();
    } while (this.#clock.now() - writtenMs > CLAIM_MS / 2);
  }

  /** Nothing is claimed of a quota beyond what is left of it: however often it is killed, that is all that it counts. */
  #spentWait(budget: string): Wait | undefined {
    const allowed = this.#quotas.get(budget)?.requests ?? Infinity;
    const used = this.#ledger.state(budget)?.quotaUsed ?? 0;
    if (used + this.#accountOf(budget).claimed < allowed) return undefined;
    const { paceGapMs } = this.#ledger.restraint([budget]);
    return { kind: "wait", untilMs: this.#clock.now() + paceGapMs, cause: "quota", budget };
  }

  /** Of a budget that a reload removed while a claim was written. */
  #absentWait(budgets: readonly string[]): Wait | undefined {
    const budget = budgets.find((each) => this.#ledger.state(each) === undefined);
    if (budget === undefined) return undefined;
    return { kind: "wait", untilMs: this.#clock.now() + CLAIM_MS, cause: "ledger", budget };
  }

  #accountOf(budget: string): Account {
    const account = this.#accounts.get(budget) ?? {
      unconfirmed: new QuotaCount(this.#file.unconfirmedQuotas.get(budget)),
      inFlight: 0,
      claimed: 0,
      version: 0,
    };
    this.#accounts.set(budget, account);
    return account;
  }
}

function change(
  accounts: readonly Account[],
  by: { readonly claimed: number; readonly inFlight: number },
): void {
  for (const account of accounts) {
    account.claimed += by.claimed;
    account.inFlight += by.inFlight;
    account.version += 1;
  }
}

function quotasOf({ budgets }: Config): ReadonlyMap<string, Quota> {
  return new Map(budgets.flatMap(({ name, quota }) => (quota === undefined ? [] : [[name, quota] as const])));
}
