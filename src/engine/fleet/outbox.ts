import type { UpstreamSignals } from "../../core/budget/signals.ts";
import type {
  LedgerStore,
  Stored,
  SharedSettlement,
  SharedState,
  SharedTerms,
} from "../../core/fleet/ledger-store.ts";

type Message = { readonly atMs: number } & (
  | { readonly kind: "settled"; readonly settled: SharedSettlement }
  | { readonly kind: "signals"; readonly signals: UpstreamSignals }
);

/** More than any outage leaves open. The oldest is worth least. */
const MOST_MESSAGES = 10_000;

/** What Redis must be told about a budget, kept while Redis is unreachable. */
export class Outbox {
  readonly #store: LedgerStore;
  #messages: Message[] = [];

  constructor(store: LedgerStore) {
    this.#store = store;
  }

  settled(settled: SharedSettlement, atMs: number): void {
    this.#put({ kind: "settled", settled, atMs });
  }

  signalled(signals: UpstreamSignals, atMs: number): void {
    this.#put({ kind: "signals", signals, atMs });
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0;
  }

  /** Returns the last answer, and keeps what was not delivered. Undefined if there was nothing to send. */
  async send(terms: SharedTerms, nowMs: number): Promise<Stored<SharedState> | undefined> {
    const messages = this.#messages;
    this.#messages = [];
    const answers = await Promise.all(messages.map((message) => this.#deliver(message, terms, nowMs)));
    const kept = messages.filter((_, index) => answers[index]?.kind === "away");
    this.#messages = [...kept, ...this.#messages].slice(-MOST_MESSAGES);
    return kept.length > 0 ? { kind: "away" } : answers.at(-1);
  }

  #put(message: Message): void {
    this.#messages.push(message);
    if (this.#messages.length > MOST_MESSAGES) this.#messages.shift();
  }

  #deliver(message: Message, terms: SharedTerms, nowMs: number): Promise<Stored<SharedState>> {
    const agoMs = Math.max(0, nowMs - message.atMs);
    switch (message.kind) {
      case "settled":
        return this.#store.settle(terms, message.settled, agoMs);
      case "signals":
        return this.#store.applySignals(terms, message.signals, agoMs);
      default:
        return message satisfies never;
    }
  }
}
