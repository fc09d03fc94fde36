import type { Advice } from "../hints/fields/advice.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { hourOf, SECOND_MS } from "../../kernel/time/duration.ts";
import type { Whose } from "../hints/concern.ts";
import type { Note, NoteHome } from "../../kernel/text/notes.ts";
import { Journal } from "./journal.ts";
import type { BudgetRestraint, LeaseDecision, Ledger, RunningLedger } from "../../kernel/budget/ledger.ts";
import type { Draw } from "./quotas.ts";
import { type BudgetRecord, heldNote, NOTHING_HELD } from "../hints/record.ts";

/**
 * Every request of a budget with a quota is in each home before it may leave, and so is the most that it may cost. So
 * however this process is killed, none is missing after it, and too many are counted only by those that were in flight.
 * What an answer asks for is there before the next request of its budget.
 */
export class JournaledLedger implements Ledger {
  readonly #ledger: RunningLedger;
  readonly #journals: readonly Journal[];
  readonly #clock: Clock;
  /** By budget, as text: whatever differs from this is written. */
  readonly #kept = new Map<string, string>();
  readonly #unwritten = new Map<string, Promise<unknown>>();

  constructor(ledger: RunningLedger, homes: readonly NoteHome[], clock: Clock) {
    this.#ledger = ledger;
    this.#journals = homes.map((home) => new Journal(home));
    this.#clock = clock;
    ledger.quotas.onChanged((note) => this.#put(note));
    ledger.onChange((budget) => this.#keepRecord(budget));
  }

  take(budgets: readonly string[], mostCost: number = 0): LeaseDecision | Promise<LeaseDecision> {
    const unwritten = this.#unwritten.size === 0 ? undefined : this.#unwrittenOf(budgets);
    if (unwritten !== undefined) return unwritten.then(() => this.take(budgets, mostCost));
    return this.#ledger.quotas.areCounted(budgets, mostCost)
      ? this.#takeCounted(budgets, mostCost)
      : this.#ledger.take(budgets, mostCost);
  }

  restraint(budgets: readonly string[], mostCost?: number): BudgetRestraint {
    return this.#ledger.restraint(budgets, mostCost);
  }

  isLowered(budgets: readonly string[]): boolean {
    return this.#ledger.isLowered(budgets);
  }

  applyAdvice(budgets: readonly string[], advice: Advice): Whose | undefined {
    const whose = this.#ledger.applyAdvice(budgets, advice);
    for (const budget of budgets) this.#keepRecord(budget);
    return whose;
  }

  onChange(listener: (budget: string) => void): void {
    this.#ledger.onChange(listener);
  }

  /** At the start: else the next process could believe what an older one said of the part that it sent by. */
  keepParts(budgets: readonly string[]): void {
    for (const budget of budgets)
      if (this.#ledger.record(budget)?.part !== undefined) this.#keepRecord(budget);
  }

  #put(note: Note): void {
    for (const journal of this.#journals) journal.put(note);
  }

  /** Whether all that was counted, or asked for, by now is written. */
  async written(): Promise<boolean> {
    const each = await Promise.all(this.#journals.map((journal) => journal.written()));
    return each.every(Boolean);
  }

  #keepRecord(budget: string): void {
    const record = this.#ledger.record(budget);
    const kept = this.#kept.get(budget);
    if (record === undefined || (record === NOTHING_HELD && kept === undefined)) return;
    const text = JSON.stringify(record);
    if (text === kept) return;
    this.#kept.set(budget, text);
    this.#putRecord(budget, record);
  }

  /** Where it cannot be written, the next request goes all the same: this process knows it. */
  #putRecord(budget: string, record: BudgetRecord): void {
    this.#put(heldNote(budget, record));
    const written = this.written().finally(() => {
      if (this.#unwritten.get(budget) === written) this.#unwritten.delete(budget);
    });
    this.#unwritten.set(budget, written);
  }

  #unwrittenOf(budgets: readonly string[]): Promise<unknown> | undefined {
    const unwritten = budgets
      .map((budget) => this.#unwritten.get(budget))
      .filter((each) => each !== undefined);
    return unwritten.length === 0 ? undefined : Promise.all(unwritten);
  }

  /**
   * What is reserved while the homes write keeps the place of the request in the count. The request takes that place in
   * one turn, so that never both of them count, and never neither.
   *
   *      reserved      lease             request ends
   *        |-------------|---------------------|--------------- time
   *        |-------- written, unconfirmed -----|   used, or taken back if nothing was sent
   */
  async #takeCounted(budgets: readonly string[], mostCost: number): Promise<LeaseDecision> {
    // Nothing is written for a request that has to wait anyway.
    const wait = this.#ledger.waitFor(budgets, mostCost);
    if (wait !== undefined) return wait;
    const hour = this.#hour;
    const reserved = this.#drawsOf(budgets, mostCost).map(({ count, units }) => ({
      count,
      request: count.send(units),
    }));
    const isWritten = await this.written();
    for (const { count, request } of reserved) count.end(request, 0);
    const untilMs = this.#clock.now() + SECOND_MS;
    // A reload may have removed it meanwhile: nobody may send on it any more.
    const absent = budgets.find((budget) => this.#ledger.state(budget) === undefined);
    const unwritten = isWritten ? undefined : reserved[0]?.count.key.budget;
    const heldBy = absent ?? unwritten;
    if (heldBy !== undefined) return { kind: "wait", untilMs, cause: "ledger", budget: heldBy };
    // It would leave the quota with the hour in which it was reserved, and so too early.
    const isLate = this.#hour !== hour;
    // A reload may have given its budget a further quota, in which it is not written.
    const isMissed = this.#drawsOf(budgets, mostCost).some(({ count }) =>
      reserved.every((known) => known.count !== count),
    );
    if (isLate || isMissed) return this.#takeCounted(budgets, mostCost);
    return this.#ledger.take(budgets, mostCost);
  }

  /** The quotas that such a request counts against, with what it takes of each. */
  #drawsOf(budgets: readonly string[], mostCost: number): readonly Draw[] {
    return budgets
      .flatMap((budget) => this.#ledger.quotas.drawsOf(budget, mostCost))
      .filter(({ count }) => count.limit !== undefined);
  }

  get #hour(): number {
    return hourOf(this.#ledger.quotas.calendar.now());
  }
}
