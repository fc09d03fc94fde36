import type { Clock } from "../../../kernel/time/clock.ts";
import { LATE, within } from "../../../platform/within.ts";
import { type Luck, retryMs } from "./election.ts";
import {
  BYTES_OF_ALL,
  BYTES_OF_BUDGET,
  type BudgetTerms,
  changedStarts,
  type Found,
  foundIn,
  isPolled,
  isSameRow,
  type LastLeases,
  notesText,
  rowOf,
  type Rows,
  startOf,
  type Starts,
} from "./notes.ts";
import { MOST_BYTES, type Reading, type Register } from "./register.ts";

/** From winning the lock until losing it. It never comes back: the next one is another. */
export interface Reign {
  readonly term: number;
  /** What the leader before gave to `write`. */
  readonly left: unknown;
  /** There was a leader before, and its notes should be there. */
  readonly isLoss: boolean;
  /**
   * By the monotonic clock: the cold start of this budget, or what is left of it. Of one that came with a reload it is
   * in the past: when it begins is its ledger's business.
   */
  startsAtMs(budget: string): number;
  /** To be asked in the turn of a request's first byte. Without a budget: may anything be sent at all? */
  maySend(budget?: string): boolean;
  /**
   * All facts, each time. True once the next leader will find them; false where nobody can say so: then they are written
   * again, with those that come next. False, and forgotten, where they are too long.
   */
  write(facts: unknown): Promise<boolean>;
  /** So long may they be. */
  readonly mostBytes: number;
  /** After a reload: a budget sends under new terms once they are noted. */
  termsChanged(): void;
}

/** `lead`: to note and to free, but to send nothing more. */
export type Right = "none" | "lead" | "send";

export type ReignParts = {
  readonly term: number;
  readonly isAfterLeader: boolean;
  /** As it was read while standing by. */
  readonly found: Found | undefined;
  readonly ttlMs: number;
  readonly notes: Register;
  /** Of every budget of the config, as it is now. */
  readonly terms: () => readonly BudgetTerms[];
  readonly clock: Clock;
  readonly luck: () => Luck;
  readonly right: () => Right;
  /** Facts without those that are needed least: they have so many bytes at most. */
  readonly fitting: (facts: unknown, mostBytes: number) => unknown;
  /** Something was noted, or cannot be. */
  readonly onNoted: () => void;
};

type Write = { readonly n: string; readonly rows: Rows; readonly count: number; readonly isRest: boolean };

/** When it is noted that a budget begins it may, and that takes a moment. */
const NOTED_WITHIN_MS = 250;

/**
 * It reads the notes, and writes them back under its own life before anything is sent: then no late write of the leader
 * before it can succeed any more.
 */
export class OwnReign implements Reign {
  readonly term: number;
  hasBegun = false;
  readonly #parts: ReignParts;
  #found: Found | undefined;
  #starts: Starts = new Map();
  #facts: unknown;
  #factsCount = 0;
  #leases: LastLeases | undefined;
  #version = "";
  #mustRead = true;
  #mustWrite = false;
  #last: Write | undefined;
  /** While there is none, nothing may be sent. */
  #noted: (Write & { readonly atMs: number }) | undefined;
  #waiting: readonly { readonly count: number; readonly resolve: (isNoted: boolean) => void }[] = [];
  #idle = new AbortController();

  constructor(parts: ReignParts) {
    this.#parts = parts;
    this.term = parts.term;
    this.#found = parts.found;
  }

  /** What stands at the notes is never written over: so nothing can be sent. */
  get isForeign(): boolean {
    return this.#found?.noted === "foreign";
  }

  get left(): unknown {
    const noted = this.#found?.noted;
    return typeof noted === "object" ? noted.facts : undefined;
  }

  get isLoss(): boolean {
    return this.#parts.isAfterLeader && typeof this.#found?.noted !== "object";
  }

  startsAtMs(budget: string): number {
    const start = this.#starts.get(budget);
    if (start === undefined) return 0;
    const isNoted = isPolled(this.#noted?.rows.get(budget), start.terms);
    return isNoted ? start.atMs : start.atMs + NOTED_WITHIN_MS;
  }

  maySend(budget?: string): boolean {
    if (this.#noted === undefined || this.#parts.right() !== "send") return false;
    if (budget === undefined) return true;
    const start = this.#starts.get(budget);
    if (start === undefined || this.#nowMs < start.atMs) return false;
    return isPolled(this.#noted.rows.get(budget), start.terms);
  }

  write(facts: unknown): Promise<boolean> {
    if (this.#parts.right() === "none" || this.#noted === undefined) return Promise.resolve(false);
    if (new TextEncoder().encode(JSON.stringify(facts)).length > this.mostBytes)
      return Promise.resolve(false);
    this.#facts = facts;
    this.#factsCount += 1;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting = [...this.#waiting, { count: this.#factsCount, resolve }];
    this.#wake();
    return promise;
  }

  get mostBytes(): number {
    return MOST_BYTES - BYTES_OF_ALL - BYTES_OF_BUDGET * this.#starts.size;
  }

  termsChanged(): void {
    if (this.#found === undefined) return;
    this.#starts = changedStarts(this.#starts, this.#parts.terms(), this.#found, this.#nowMs);
    this.#wake();
  }

  /** Whether it may begin now, once. */
  begin(): boolean {
    if (this.hasBegun || !this.maySend()) return false;
    this.hasBegun = true;
    // The config may have changed since it was noted.
    this.termsChanged();
    return true;
  }

  /** Somebody emptied the lock or set it back: perhaps these too. */
  doubt(): void {
    this.#mustRead = true;
    this.#wake();
  }

  rest(leftMs: ReadonlyMap<string, number>): void {
    this.#leases = { leftMs, atMs: this.#nowMs };
    this.#wake();
  }

  /** What the next one must know is noted; or it had its time, and what was noted before stands. */
  get hasRested(): boolean {
    if (this.#leases === undefined) return false;
    return this.#noted?.isRest === true || this.#nowMs >= this.#leases.atMs + this.#parts.ttlMs / 4;
  }

  async keep(): Promise<void> {
    const { ttlMs, right, luck, clock, onNoted } = this.#parts;
    let failures = 0;
    while (right() !== "none") {
      const outcome = await this.#step();
      if (outcome === "unknown") this.#settle(() => false);
      if (outcome === "noted" || this.isForeign) onNoted();
      failures = outcome === "unknown" || outcome === "changed" ? failures + 1 : 0;
      if (outcome === "idle") {
        this.#idle = new AbortController();
        await clock.sleep(Math.max(1, this.#nextChangeInMs), this.#idle.signal);
      } else if (outcome === "unknown" || failures > 3)
        await clock.sleep(retryMs(ttlMs, failures - 1, luck()));
    }
    this.#settle(() => false);
  }

  async #step(): Promise<"read" | "noted" | "idle" | "changed" | "unknown"> {
    const { notes, luck, fitting } = this.#parts;
    if (this.#mustRead) {
      const reading = await this.#inTime(notes.read());
      if (reading === undefined) return "unknown";
      this.#mustRead = false;
      this.#read(reading);
      return this.#noted === undefined ? "read" : "noted";
    }
    this.#mustRead = this.isForeign;
    if (this.#mustRead) return "unknown";
    const write = {
      n: luck().id,
      rows: this.#rows,
      count: this.#factsCount,
      isRest: this.#leases !== undefined,
    };
    if (this.#isNoted(write)) return "idle";
    this.#last = write;
    const whole = notesText(write.n, write.rows, this.#facts);
    const isLong = new TextEncoder().encode(whole).length > MOST_BYTES;
    // More budgets may have come by a reload or with this leader: their rows come first.
    const text = isLong ? notesText(write.n, write.rows, fitting(this.#facts, this.mostBytes)) : whole;
    const written = await this.#inTime(notes.write(text, this.#version));
    this.#mustRead = written?.kind !== "written";
    if (written?.kind !== "written") return written?.kind ?? "unknown";
    this.#version = written.version;
    this.#mustWrite = false;
    this.#acknowledge(write);
    return "noted";
  }

  async #inTime<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
    const { clock, ttlMs } = this.#parts;
    const answer = await within(
      ttlMs / 4,
      asked.catch(() => undefined),
      clock,
    );
    return answer === LATE ? undefined : answer;
  }

  #read(reading: Reading): void {
    const found = foundIn(reading, this.#found, this.#nowMs);
    const noted = typeof found.noted === "object" ? found.noted : undefined;
    this.#version = reading.version;
    const own = noted?.n === this.#last?.n ? this.#last : undefined;
    if (own !== undefined) this.#acknowledge(own);
    if (found.noted === "foreign") {
      this.#found = found;
      this.#noted = undefined;
    } else if (this.#noted === undefined) {
      this.#found = found;
      this.#facts = noted?.facts;
      this.#starts = new Map(this.#parts.terms().map((terms) => [terms.budget, startOf(terms, found)]));
    } else this.#mustWrite = own === undefined || !reading.isSure;
  }

  #acknowledge(write: Write): void {
    this.#noted = { ...write, atMs: this.#nowMs };
    this.#settle((count) => count <= write.count || undefined);
  }

  get #rows(): Rows {
    const row = (start: Parameters<typeof rowOf>[0]) =>
      rowOf(start, this.#leases, this.#parts.ttlMs, this.#nowMs);
    return new Map([...this.#starts].map(([budget, start]) => [budget, row(start)]));
  }

  /** What is left to wait is noted again and again, as it becomes less. */
  #isNoted({ rows, count, isRest }: Write): boolean {
    const noted = this.#noted;
    if (noted === undefined || this.#mustWrite || noted.count !== count || noted.isRest !== isRest)
      return false;
    const isOld = !isRest && this.#nowMs >= noted.atMs + this.#parts.ttlMs;
    return (
      noted.rows.size === rows.size &&
      [...rows].every(
        ([budget, row]) => isSameRow(noted.rows.get(budget), row) && !(isOld && row.rest !== undefined),
      )
    );
  }

  get #nextChangeInMs(): number {
    const moments = [...this.#starts.values()].flatMap(({ atMs, mixedUntilMs }) => [atMs, mixedUntilMs]);
    return Math.min(this.#parts.ttlMs, ...moments.map((atMs) => atMs - this.#nowMs).filter((ms) => ms > 0));
  }

  get #nowMs(): number {
    return this.#parts.clock.now();
  }

  #wake(): void {
    // Without a reason it would make an exception, with its stack, each time.
    this.#idle.abort("woken");
  }

  #settle(outcome: (count: number) => boolean | undefined): void {
    this.#waiting = this.#waiting.filter(({ count, resolve }) => {
      const isNoted = outcome(count);
      if (isNoted !== undefined) resolve(isNoted);
      return isNoted === undefined;
    });
  }
}
