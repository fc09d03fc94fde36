import { type Budget, capOf, type Fleet } from "../../core/config/config.ts";
import { reservedOf, reservedRates } from "../../core/fleet/shares.ts";
import { type LeaseTerms, Leases, forgottenAfterMs } from "../../core/budget/leases.ts";
import type { Restraint } from "../../core/budget/restraint.ts";
import type { Settlement } from "../../core/budget/ledger.ts";

export type Settle = (settlement: Settlement, nowMs: number) => void;

/** This replica's own part of a budget, used while Redis is unreachable. */
export class Reserve {
  readonly #fleet: Fleet;
  #budget: Budget;
  #leases: Leases | undefined;

  constructor(budget: Budget, fleet: Fleet) {
    this.#budget = budget;
    this.#fleet = fleet;
  }

  get isOpen(): boolean {
    return this.#leases !== undefined;
  }

  /**
   * What was sent before it was set aside must no longer count: by another replica that had the seat, or with a lease
   * of the shared part, which was larger by then.
   */
  open(nowMs: number, holdMs: number): void {
    const terms = this.#terms();
    this.#leases =
      terms === undefined ? undefined : new Leases(terms, nowMs, forgottenAfterMs(terms, holdMs));
  }

  close(): void {
    this.#leases = undefined;
  }

  change(budget: Budget, uncountedMs: number, nowMs: number): void {
    this.#budget = budget;
    const terms = this.#terms();
    if (terms === undefined) this.#leases = undefined;
    else this.#leases?.change(terms, nowMs, forgottenAfterMs(terms, uncountedMs));
  }

  /** Not later than now if `grant` may follow at once; undefined if there is nothing to wait for. */
  freeAtMs(restraint: Restraint, nowMs: number): number | undefined {
    const caps = this.caps(restraint, nowMs);
    return caps.some((cap) => cap < 1) ? undefined : this.#leases?.freeAtMs(nowMs, caps);
  }

  grant(nowMs: number): Settle {
    const leases = this.#leases;
    leases?.grant(nowMs);
    return (settlement, atMs) => leases?.settle(settlement, atMs);
  }

  caps(restraint: Restraint, nowMs: number): readonly number[] {
    if (this.#leases === undefined) return this.#budget.rates.map(() => 0);
    return this.#budget.rates.map((rate) =>
      reservedOf(restraint.capOf(rate, capOf(rate, this.#budget.share), nowMs), this.#fleet),
    );
  }

  heldIn(perMs: number, nowMs: number): number {
    return this.#leases?.heldIn(perMs, nowMs) ?? 0;
  }

  #terms(): LeaseTerms | undefined {
    const rates = reservedRates(this.#budget, this.#fleet);
    return rates === undefined ? undefined : { rates, lingerMs: this.#budget.lingerMs };
  }
}
