import type { Budget, Fleet } from "../../core/config/config.ts";
import { reservedOf, reservedRates } from "../../core/fleet/shares.ts";
import { type LeaseTerms, Leases, forgottenAfterMs } from "../../core/budget/leases.ts";
import type { Restraint } from "../../core/budget/restraint.ts";
import type { Settlement } from "../../core/budget/ledger.ts";

export type Settle = (settlement: Settlement, nowMs: number) => void;

/** This replica's own part of a budget, used while Redis is unreachable. */
export class Reserve {
  readonly #fleet: Fleet;
  #budget: Budget;
  #uncountedMs: number;
  #leases: Leases | undefined;

  constructor(budget: Budget, fleet: Fleet, uncountedMs: number) {
    this.#budget = budget;
    this.#fleet = fleet;
    this.#uncountedMs = uncountedMs;
  }

  /** Another replica may have had the seat: its requests must no longer count. */
  open(nowMs: number): void {
    const terms = this.#terms();
    this.#leases =
      terms === undefined ? undefined : new Leases(terms, nowMs, forgottenAfterMs(terms, this.#uncountedMs));
  }

  change(budget: Budget, uncountedMs: number, nowMs: number): void {
    this.#budget = budget;
    this.#uncountedMs = uncountedMs;
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
      reservedOf(
        restraint.capOf(rate, Math.floor(rate.requests * this.#budget.share + 1e-9), nowMs),
        this.#fleet,
      ),
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
