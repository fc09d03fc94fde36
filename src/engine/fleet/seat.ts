import type { LedgerStore } from "../../core/fleet/ledger-store.ts";
import { type Clock, CLOCK_RATE_MARGIN } from "../../core/time/clock.ts";
import { type Moment, momentOf, mostSince } from "../../core/time/moment.ts";
import { HOUR_MS, DAY_MS } from "../../core/time/duration.ts";

const SEAT_MS = DAY_MS;
const USABLE_MS = SEAT_MS / CLOCK_RATE_MARGIN;
const RENEW_EVERY_MS = HOUR_MS;
const RETRY_EVERY_MS = 5_000;

export type SeatEvents = {
  /** It is taken anew: another replica may have had it before. */
  onTaken(): void;
  /** All are taken; or, after that, one is this replica's. */
  onMissing(isMissing: boolean): void;
};

/** There are as many seats as reserves. Only a replica that has a seat may use its reserve. */
export class Seat {
  readonly #store: LedgerStore;
  readonly #clock: Clock;
  readonly #owner: string;
  readonly #seats: number;
  readonly #events: SeatEvents;
  #takenAt: Moment | undefined;
  #askAgainMs = Number.NEGATIVE_INFINITY;
  #seat: number | undefined;
  #isAsking = false;
  #isMissing = false;

  constructor(store: LedgerStore, clock: Clock, owner: string, seats: number, events: SeatEvents) {
    this.#store = store;
    this.#clock = clock;
    this.#owner = owner;
    this.#seats = seats;
    this.#events = events;
  }

  get isUsable(): boolean {
    return this.#takenAt !== undefined && mostSince(this.#takenAt, momentOf(this.#clock)) < USABLE_MS;
  }

  /** Takes or renews it when due. */
  async keep(): Promise<void> {
    const asked = momentOf(this.#clock);
    const wasUsable = this.isUsable;
    const isDue = asked.nowMs >= this.#askAgainMs || (this.#seat !== undefined && !wasUsable);
    if (this.#isAsking || !isDue) return;
    this.#isAsking = true;
    const stored = await this.#store.takeSeat(this.#seats, this.#owner, SEAT_MS);
    this.#isAsking = false;
    const seat = stored.kind === "answered" ? stored.answer : undefined;
    this.#askAgainMs = asked.nowMs + (seat === undefined ? RETRY_EVERY_MS : RENEW_EVERY_MS);
    if (stored.kind === "away") return;
    const isAnew = seat !== undefined && (seat !== this.#seat || !wasUsable);
    this.#seat = seat;
    this.#takenAt = seat === undefined ? undefined : asked;
    if (isAnew) this.#events.onTaken();
    if (this.#isMissing === (seat === undefined)) return;
    this.#isMissing = seat === undefined;
    this.#events.onMissing(this.#isMissing);
  }

  /** It may be another Redis now, which does not know. */
  askAtOnce(): void {
    this.#askAgainMs = Number.NEGATIVE_INFINITY;
  }

  async leave(): Promise<void> {
    this.#askAgainMs = Infinity;
    if (this.#seat === undefined) return;
    this.#takenAt = undefined;
    this.#seat = undefined;
    await this.#store.leaveSeat(this.#owner);
  }
}
