import type { Advice } from "../../core/advice/advice.ts";
import type { BudgetPart } from "../../core/budget/budget-ledger.ts";
import {
  type BudgetRestraint,
  type BudgetState,
  type LeaseDecision,
  type RunningLedger,
  type Wait,
} from "../../core/budget/ledger.ts";
import type { Whose } from "../../core/budget/concern.ts";
import { LocalLedger, uncountedMsOf } from "../../core/budget/local-ledger.ts";
import { sendersByBudget } from "../../core/budget/needs.ts";
import { startOf } from "../../core/budget/part.ts";
import type { QuotaCount } from "../../core/budget/quota.ts";
import type { Quotas } from "../../core/budget/quotas.ts";
import { type BudgetRecord, NOTHING_HELD } from "../../core/budget/record.ts";
import type { Budget, Config, Fleet, Upstream } from "../../core/config/config.ts";
import { tokenRequests } from "../../core/config/oauth2.ts";
import type {
  BeatRequest,
  ClaimedBudget,
  Claimed,
  FleetBoard,
  Granted,
  Shares,
} from "../../core/fleet/board.ts";
import { noteText, readNote } from "../../core/fleet/budget-note.ts";
import { budgetOnBoard } from "../../core/fleet/groups.ts";
import type { Holdings } from "../../core/fleet/holdings.ts";
import { sharesOf } from "../../core/fleet/parts.ts";
import { type Clock, CLOCK_RATE_MARGIN } from "../../core/time/clock.ts";
import { DAY_MS, SECOND_MS } from "../../core/time/duration.ts";
import { type Moment, momentOf, mostSince } from "../../core/time/moment.ts";
import { BoardCounts } from "./board-counts.ts";

/** By name on the board. */
type PauseTeller = { pause(name: string, forMs: number): void; resumed(name: string): void };

export type FleetLedgerParts = {
  readonly fleet: Pick<Fleet, "mode" | "name" | "replicas" | "reserve" | "ttlMs">;
  readonly board: FleetBoard;
  readonly holdings: Holdings;
  readonly clock: Clock;
  readonly quotas: Quotas;
  readonly records?: ReadonlyMap<string, BudgetRecord> | undefined;
  readonly onBug: (error: unknown) => void;
};

const SEAT_USABLE_MS = DAY_MS / CLOCK_RATE_MARGIN;
const LOOK_AGAIN_MS = 250;
/** Told to the others only where it is longer: the clocks of all read a little apart. */
const SAME_PAUSE_MS = SECOND_MS;

/**
 * The ledger of one replica: a process's own, of the budgets that it holds, or of its part of all budgets. Nothing is
 * asked of Redis for a poll; only whether the right to it is still valid is looked at, also just before the first byte.
 */
export class FleetLedger implements RunningLedger {
  readonly quotas: Quotas;
  readonly counts: BoardCounts;
  readonly #parts: FleetLedgerParts;
  readonly #local: LocalLedger;
  readonly #isSharded: boolean;
  readonly #shares: Shares;
  /** Of `everywhere`: what the board has granted, and when it was asked. */
  #granted: (Shares & { readonly at: Moment }) | undefined;
  #budgets: ReadonlyMap<string, Budget> = new Map();
  #senders: ReadonlyMap<string, readonly Upstream[]> = new Map();
  /** Their records may differ from what was told last. */
  readonly #changed = new Set<string>();
  /** By budget, the record that the board has, where it has one. */
  readonly #told = new Map<string, string>();
  #teller: PauseTeller | undefined;

  constructor(config: Config, parts: FleetLedgerParts) {
    const { fleet, board, clock, quotas, records } = parts;
    this.#parts = parts;
    this.quotas = quotas;
    this.#isSharded = fleet.mode === "shard";
    this.#shares = sharesOf(fleet);
    const part: BudgetPart | undefined = this.#isSharded
      ? undefined
      : { most: 1 / fleet.replicas, now: () => this.#has.seat + this.#has.rest };
    this.#local = new LocalLedger(config, clock, quotas, records, { isClaimed: true, part });
    this.counts = new BoardCounts({ board, quotas, name: this.#isSharded ? "" : fleet.name });
    this.#local.onChange((budget) => this.#changed.add(budget));
    this.#know(config);
  }

  /** Whoever tells other replicas hears of each pause at once. */
  tellBy(teller: PauseTeller): void {
    this.#teller = teller;
  }

  /** In `everywhere`, whether a part of each budget may be used also while Redis is away. */
  get hasSeat(): boolean {
    const granted = this.#granted;
    if (granted === undefined || granted.seat === 0) return false;
    return mostSince(granted.at, momentOf(this.#parts.clock)) < SEAT_USABLE_MS;
  }

  get hasRest(): boolean {
    return this.#granted !== undefined && this.#granted.rest > 0 && this.#parts.holdings.isSessionValid;
  }

  take(budgets: readonly string[], mostCost: number = 0): LeaseDecision {
    const wait = this.#noRight(budgets);
    if (wait !== undefined) return wait;
    const decision = this.#local.take(budgets, mostCost);
    if (decision.kind === "wait") return decision;
    const needsRest = this.hasRest;
    const isUsable = this.#isSharded
      ? () => this.#parts.holdings.mayDrawOn(budgets)
      : () => (needsRest ? this.hasRest : this.hasSeat);
    return { kind: "granted", lease: { ...decision.lease, isUsable } };
  }

  waitFor(budgets: readonly string[], mostCost: number = 0): Wait | undefined {
    return this.#noRight(budgets) ?? this.#local.waitFor(budgets, mostCost);
  }

  restraint(budgets: readonly string[], mostCost: number = 0): BudgetRestraint {
    return this.#local.restraint(budgets, mostCost);
  }

  applyAdvice(budgets: readonly string[], advice: Advice): Whose | undefined {
    for (const budget of budgets) this.#changed.add(budget);
    if (!advice.throttled && advice.pause === undefined) return this.#local.applyAdvice(budgets, advice);
    const known = budgets.filter((budget) => this.#budgets.has(budget));
    const before = known.map((budget) => this.#local.restraint([budget]).pausedUntilMs);
    const whose = this.#local.applyAdvice(budgets, advice);
    const nowMs = this.#parts.clock.now();
    for (const [index, budget] of known.entries()) {
      const { pausedUntilMs } = this.#local.restraint([budget]);
      if (pausedUntilMs > Math.max(nowMs, before[index] ?? 0))
        this.#teller?.pause(budgetOnBoard(budget), pausedUntilMs - nowMs);
    }
    return whose;
  }

  onChange(listener: (budget: string) => void): void {
    this.#local.onChange(listener);
  }

  /** Undefined for a budget that another replica holds. */
  state(budget: string): BudgetState | undefined {
    if (!this.#isHeld(budget)) return undefined;
    return this.#local.state(budget);
  }

  record(budget: string): BudgetRecord | undefined {
    return this.#local.record(budget);
  }

  resume(budget: string): boolean {
    const isKnown = this.#local.resume(budget);
    if (isKnown) this.#teller?.resumed(budgetOnBoard(budget));
    return isKnown;
  }

  change(config: Config): void {
    this.#know(config);
    this.#local.change(config);
  }

  /** What a claim says of it. */
  claimOf(name: string): ClaimedBudget {
    const budget = this.#get(name);
    const uncountedMs = this.#uncountedMs(budget);
    const { coldMs } = this.#startOf(budget);
    const rates = budget.rates.map(({ requests, perMs }) => [requests, perMs]);
    return {
      budget: name,
      coldMs,
      terms: JSON.stringify([rates, budget.share, uncountedMs]),
      waitMs: Math.max(0, this.#local.startsAtMs(name) - this.#parts.clock.now()),
    };
  }

  /** Others may have sent on it, so nothing is sent before `waitMs`. */
  begin(budget: string, waitMs: number, left: Claimed["record"]): void {
    const note = left && readNote(left.text);
    if (note !== undefined && left !== undefined)
      this.#local.adoptRecord(budget, note.record, note.wallMs + left.agoMs);
    if (left === undefined) this.#told.delete(budget);
    else this.#told.set(budget, "another's");
    for (const count of this.#countsOf(budget)) {
      this.counts.forget(count);
      void this.counts.tell(count).catch(this.#parts.onBug);
    }
    this.#local.begin(budget, this.#parts.clock.now() + waitMs * CLOCK_RATE_MARGIN);
  }

  /** Resolves when its quotas are told. */
  async end(budget: string): Promise<void> {
    const told = this.#countsOf(budget).filter((count) => this.counts.isKnown(count));
    await Promise.all(told.map((count) => this.counts.tell(count)));
  }

  /** Undefined while a request is in flight. */
  leasesEndInMs(budget: string): number | undefined {
    const endAtMs = this.#local.leasesEndAtMs(budget);
    if (endAtMs === Infinity) return undefined;
    return Math.max(0, endAtMs - this.#parts.clock.now()) * CLOCK_RATE_MARGIN;
  }

  pause(name: string, forMs: number): void {
    const { clock } = this.#parts;
    const budget = this.#budgets.get(name);
    if (budget === undefined) return;
    const untilMs = clock.now() + forMs;
    if (this.#local.restraint([name]).pausedUntilMs >= untilMs - SAME_PAUSE_MS) return;
    const wallMs = clock.wallNow();
    this.#local.adoptRecord(name, { ...NOTHING_HELD, pausedUntilMs: wallMs + forMs }, wallMs);
  }

  /** In `everywhere`, what is wanted of all budgets. */
  wants(): BeatRequest["wants"] {
    if (this.#isSharded) return undefined;
    const forgottenMs = Math.max(
      0,
      ...[...this.#budgets.values()].map((budget) => this.#startOf(budget).forgottenMs),
    );
    return { ...this.#shares, has: this.#has, forgottenMs };
  }

  /** What another may have used before is used only when that no longer counts, or by the rule of a restart. */
  granted({ seat, rest, isAnew, isMixed }: Granted, sentAt: Moment): void {
    this.#granted = { seat, rest, at: sentAt };
    if (!isAnew) return;
    const nowMs = this.#parts.clock.now();
    for (const [name, budget] of this.#budgets) {
      const { coldMs, forgottenMs } = this.#startOf(budget);
      this.#local.begin(name, nowMs + (isMixed ? forgottenMs : coldMs) * CLOCK_RATE_MARGIN);
    }
  }

  /** What others use of the same quotas changes without our doing. */
  async hearCounts(): Promise<void> {
    const held = [...this.#budgets.keys()].filter((budget) => this.#isHeld(budget));
    const shared = held
      .flatMap((budget) => this.#countsOf(budget))
      .filter((count) => !this.#isSharded || count.elsewhere > 0 || !this.counts.isKnown(count));
    await Promise.all(shared.map((count) => this.counts.tell(count)));
  }

  /** Of the budgets held here, by name on the board: of all, or of those that may have changed since. */
  *records(isWhole: boolean): Generator<readonly [string, string]> {
    const wallMs = this.quotas.calendar.now();
    for (const name of isWhole ? this.#budgets.keys() : this.#changed) {
      const record = this.#isSharded && this.#isHeld(name) ? this.#local.record(name) : undefined;
      if (record === undefined) continue;
      const text = JSON.stringify(record);
      const before = this.#told.get(name);
      if (before === undefined ? record === NOTHING_HELD : text === before && !isWhole) continue;
      this.#told.set(name, text);
      yield [budgetOnBoard(name), noteText({ record, wallMs })];
    }
    this.#changed.clear();
  }

  #isHeld(budget: string): boolean {
    return !this.#isSharded || this.#parts.holdings.claimed.has(budgetOnBoard(budget));
  }

  #noRight(budgets: readonly string[]): Wait | undefined {
    if (!this.#isSharded || this.#parts.holdings.mayDrawOn(budgets)) return undefined;
    const untilMs = this.#parts.clock.now() + LOOK_AGAIN_MS;
    return { kind: "wait", untilMs, cause: "ledger", budget: budgets[0] ?? "" };
  }

  /** Of those that have a limit. */
  #countsOf(budget: string): readonly QuotaCount[] {
    const both = [this.quotas.of(budget, "requests"), this.quotas.of(budget, "money")];
    return both.filter(({ limit }) => limit !== undefined);
  }

  /** Of what was granted, what may be used now. */
  get #has(): Shares {
    const { seat = 0, rest = 0 } = this.#granted ?? {};
    return { seat: this.hasSeat ? seat : 0, rest: this.hasRest ? rest : 0 };
  }

  #know({ budgets, upstreams }: Config): void {
    this.#budgets = new Map(budgets.map((budget) => [budget.name, budget]));
    this.#senders = sendersByBudget([...upstreams, ...tokenRequests(upstreams)]);
  }

  #uncountedMs(budget: Budget): number {
    return uncountedMsOf(this.#senders.get(budget.name) ?? [], [budget]);
  }

  #startOf(budget: Budget): ReturnType<typeof startOf> {
    const part = this.#isSharded ? 1 : 1 / this.#parts.fleet.replicas;
    return startOf(budget, this.#uncountedMs(budget), part);
  }

  #get(name: string): Budget {
    const budget = this.#budgets.get(name);
    if (budget === undefined) throw new Error(`cannot claim: budget "${name}" must be in the config`);
    return budget;
  }
}
