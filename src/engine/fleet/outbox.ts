import type { Orders } from "../../core/budget/orders.ts";
import type { LedgerStore, Stored } from "../../core/fleet/ledger-store.ts";
import type { SharedSettlement, SharedStanding, SharedTerms } from "../../core/fleet/shared-terms.ts";

type Letter = { readonly atMs: number } & (
  | { readonly kind: "settled"; readonly settled: SharedSettlement }
  | { readonly kind: "orders"; readonly orders: Orders }
);

/** More than any outage leaves open; what is oldest is worth least. */
const MOST_LETTERS = 10_000;

/** What the keeper of a budget must hear, sooner or later: kept while it cannot be reached. */
export class FleetOutbox {
  readonly #store: LedgerStore;
  #letters: Letter[] = [];

  constructor(store: LedgerStore) {
    this.#store = store;
  }

  settled(settled: SharedSettlement, atMs: number): void {
    this.#put({ kind: "settled", settled, atMs });
  }

  ordered(orders: Orders, atMs: number): void {
    this.#put({ kind: "orders", orders, atMs });
  }

  get isEmpty(): boolean {
    return this.#letters.length === 0;
  }

  /** The answer to the last of them; what did not arrive is kept. Undefined where there was nothing to send. */
  async send(terms: SharedTerms, nowMs: number): Promise<Stored<SharedStanding> | undefined> {
    const letters = this.#letters;
    this.#letters = [];
    const answers = await Promise.all(letters.map((letter) => this.#deliver(letter, terms, nowMs)));
    const kept = letters.filter((_, index) => answers[index]?.kind === "away");
    this.#letters = [...kept, ...this.#letters].slice(-MOST_LETTERS);
    return kept.length > 0 ? { kind: "away" } : answers.at(-1);
  }

  #put(letter: Letter): void {
    this.#letters.push(letter);
    if (this.#letters.length > MOST_LETTERS) this.#letters.shift();
  }

  #deliver(letter: Letter, terms: SharedTerms, nowMs: number): Promise<Stored<SharedStanding>> {
    const agoMs = Math.max(0, nowMs - letter.atMs);
    switch (letter.kind) {
      case "settled":
        return this.#store.settle(terms, letter.settled, agoMs);
      case "orders":
        return this.#store.heed(terms, letter.orders, agoMs);
      default:
        return letter satisfies never;
    }
  }
}
