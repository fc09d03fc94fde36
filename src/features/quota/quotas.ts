import type {
  Ask,
  Constraint,
  Granted,
  Reservation,
  SendersByBudget,
  Wait,
} from "../../kernel/budget/ledger.ts";
import { uncountedMsOf } from "../../kernel/budget/needs.ts";
import type { Config } from "../../kernel/config/config.ts";
import type { Note } from "../../kernel/text/notes.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import {
  type KeptQuotas,
  NOBODY_KNOWS,
  NOTHING_KEPT,
  QUOTAS_OF,
  QuotaCount,
  type QuotaKey,
  type QuotaRow,
  quotaNotes,
} from "./quota.ts";
import { COST, MOST_COST } from "./cost.ts";
import type { Journals } from "./journal.ts";
import { HOUR_MS, hourOf, MINUTE_MS, SECOND_MS } from "../../kernel/time/duration.ts";
import { SteadyCalendar } from "../../platform/steady-calendar.ts";

const FOLLOWED_AFTER_MS: number = 15 * MINUTE_MS;

/** A request takes so many units of a quota. */
type Draw = { readonly count: QuotaCount; readonly units: number };

/** A budget without a quota: nothing is counted of it. */
const NOT_COUNTED: Granted = { settle: () => {} };

/**
 * A count for each quota of the config, and of those that left it: one that comes back continues its count.
 *
 * Every request of a budget with a quota is in the journal before it may leave, and so is the most that it may cost. So
 * however this process is killed, none is missing after it, and too many are counted only by those that were in flight.
 */
export class Quotas implements Constraint {
  readonly calendar: SteadyCalendar;
  /** It begins when something was counted last, so that nothing leaves by a clock that was ahead at the start. */
  readonly #behind: SteadyCalendar;
  readonly #counts = { requests: new Map<string, QuotaCount>(), money: new Map<string, QuotaCount>() };
  readonly #lostHours: readonly number[];
  #onChanged: (note: Note) => void = () => {};
  #journal: Journals | undefined;
  /** By budget with a quota: where that is spent, it is asked for again after so long. */
  #asksAgainMs: ReadonlyMap<string, number> = new Map();

  constructor(clock: Clock, { rows, lostHours }: KeptQuotas = NOTHING_KEPT) {
    this.calendar = new SteadyCalendar(clock, FOLLOWED_AFTER_MS);
    const lastHour = rows.reduce((last, { hour }) => Math.max(last, hour), -1);
    const startMs = lastHour < 0 ? Infinity : (lastHour + 1) * HOUR_MS;
    this.#behind = new SteadyCalendar(clock, FOLLOWED_AFTER_MS, Math.min(clock.wallNow(), startMs));
    this.calendar.onSet((byMs, nowMs) => {
      for (const count of this.#all) count.calendarSet(byMs, nowMs);
    });
    this.#lostHours = lostHours;
    for (const ofOne of Map.groupBy(rows, ({ budget, of }) => `${of} ${budget}`).values())
      if (ofOne[0] !== undefined) this.#add(ofOne[0], ofOne);
  }

  of(budget: string, of: QuotaKey["of"]): QuotaCount | undefined {
    return this.#counts[of].get(budget);
  }

  wait(budget: string, ask: Ask, nowMs: number): Wait | undefined {
    const { requests, money } = this.#counts;
    const hasRoom =
      requests.get(budget)?.hasRoomFor(1) !== false &&
      money.get(budget)?.hasRoomFor(mostCostOf(ask)) !== false;
    if (hasRoom) return undefined;
    const againInMs = this.#asksAgainMs.get(budget) ?? SECOND_MS;
    return { kind: "wait", untilMs: nowMs + againInMs, cause: "quota", budget };
  }

  /**
   * What is reserved while it is written keeps the place of the request in the count, which the request then takes.
   *
   *      reserved      lease             request ends
   *        |-------------|---------------------|--------------- time
   *        |-------- written, unconfirmed -----|   used, or taken back if nothing was sent
   */
  reserve(ask: Ask): Reservation | undefined {
    const journal = this.#journal;
    if (journal === undefined || !this.#isCounted(ask)) return undefined;
    const hour = this.#hour;
    const reserved = this.#drawsOf(ask).map(({ count, units }) => ({ count, request: count.send(units) }));
    return {
      budget: reserved[0]?.count.key.budget ?? "",
      written: journal.written(),
      release: () => {
        for (const { count, request } of reserved) count.end(request, 0);
      },
      // It would leave the quota with the hour in which it was reserved, and so too early. And a reload may have given its
      // budget a further quota, in which it is not written.
      holds: () =>
        this.#hour === hour &&
        this.#drawsOf(ask).every(({ count }) => reserved.some((known) => known.count === count)),
    };
  }

  grant(budget: string, ask: Ask): Granted {
    const [requests, money] = [this.of(budget, "requests"), this.of(budget, "money")];
    if (requests === undefined && money === undefined) return NOT_COUNTED;
    const request = requests?.send(1);
    const mostCost = mostCostOf(ask);
    const reserved = mostCost > 0 ? money?.send(mostCost) : undefined;
    return {
      settle: (settlement) => {
        const isUnsent = settlement === "unsent";
        requests?.end(request, isUnsent ? 0 : 1);
        if (isUnsent && reserved !== undefined) money?.end(reserved, 0);
      },
      // What the request did cost takes the place of the most that it might.
      ended: ({ said }) => {
        const cost = COST.of(said)?.units ?? 0;
        // Nothing was reserved where by its price it was to cost nothing.
        if (reserved !== undefined || cost > 0) money?.end(reserved, cost);
      },
    };
  }

  /** The file must hold all of these. Only budgets that have a quota are in it. */
  get notes(): readonly Note[] {
    const counts = this.#all.flatMap((count) => (count.limit === undefined ? [] : count.notes));
    return [...counts, ...quotaNotes({ rows: [], lostHours: this.#lostHours })];
  }

  /** The same, shorter, for whoever leads next. */
  get sums(): readonly Note[] {
    const sums = this.#all.flatMap((count) => count.sums);
    return [...sums, ...quotaNotes({ rows: [], lostHours: this.#lostHours })];
  }

  /** From now on, and all that it does not hold yet. What an impossible hour holds was sent just now at the latest. */
  keepIn(journal: Journals): void {
    this.#journal = journal;
    this.#onChanged = (note) => journal.put(note);
    const nowMs = this.calendar.now();
    for (const count of this.#all) count.calendarSet(0, nowMs);
  }

  change({ budgets }: Config, senders: SendersByBudget): void {
    const limits = new Map(
      budgets.map((budget) => {
        const { name, quota, spend } = budget;
        const uncountedMs = uncountedMsOf(senders.get(name) ?? [], [budget]);
        return [name, { requests: quota, money: spend, uncountedMs }];
      }),
    );
    for (const [budget, limit] of limits)
      for (const of of QUOTAS_OF)
        if (limit[of] !== undefined && this.of(budget, of) === undefined) this.#add({ budget, of }, []);
    for (const count of this.#all) {
      const { budget, of } = count.key;
      const { [of]: limit, uncountedMs } = limits.get(budget) ?? {};
      count.change(limit, uncountedMs);
      if (limit === undefined && !count.isNeeded) this.#counts[of].delete(budget);
    }
    const limited = budgets.filter(({ quota, spend }) => quota !== undefined || spend !== undefined);
    this.#asksAgainMs = new Map(
      limited.map(({ name, rates }) => [name, Math.min(...rates.map(({ perMs }) => perMs))]),
    );
  }

  /** Whether such a request counts against a limit: most do not, and pay nothing for those that do. */
  #isCounted(ask: Ask): boolean {
    const { requests, money } = this.#counts;
    const costs = mostCostOf(ask) > 0;
    return ask.budgets.some(
      (budget) =>
        requests.get(budget)?.limit !== undefined || (costs && money.get(budget)?.limit !== undefined),
    );
  }

  /** The quotas that such a request counts against, with what it takes of each. */
  #drawsOf(ask: Ask): readonly Draw[] {
    const mostCost = mostCostOf(ask);
    return ask.budgets.flatMap((budget) => [
      ...drawOf(this.of(budget, "requests"), 1),
      ...drawOf(this.of(budget, "money"), mostCost),
    ]);
  }

  get #hour(): number {
    return hourOf(this.calendar.now());
  }

  get #all(): readonly QuotaCount[] {
    return [...this.#counts.requests.values(), ...this.#counts.money.values()];
  }

  #add({ budget, of }: QuotaKey, restored: readonly QuotaRow[]): void {
    const nowMs = (): number => this.calendar.now();
    const surelyMs = (): number => Math.min(nowMs(), this.#behind.now());
    const hours = new Set(restored.map(({ hour }) => hour));
    const lost = this.#lostHours
      .filter((hour) => !hours.has(hour))
      .map((hour) => ({ hour, requests: NOBODY_KNOWS, unconfirmed: NOBODY_KNOWS }));
    const onChanged = (note: Note): void => this.#onChanged(note);
    const count = new QuotaCount({ budget, of }, nowMs, [...lost, ...restored], onChanged, surelyMs);
    this.#counts[of].set(budget, count);
  }
}

function drawOf(count: QuotaCount | undefined, units: number): readonly Draw[] {
  return count?.limit === undefined || units === 0 ? [] : [{ count, units }];
}

function mostCostOf({ fields }: Ask): number {
  return MOST_COST.of(fields) ?? 0;
}
