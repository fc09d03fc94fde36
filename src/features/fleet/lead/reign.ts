import type { Left, Note, NoteHome } from "../../../kernel/text/notes.ts";
import type { Log } from "../../../kernel/text/log.ts";
import type { Clock } from "../../../kernel/time/clock.ts";
import { SECOND_MS } from "../../../kernel/time/duration.ts";
import { within } from "../../../platform/within.ts";
import { type Luck, retryMs } from "./election.ts";
import { type Facts, fitting } from "./facts.ts";
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

/** `lead`: to note and to free, but to send nothing more. */
export type Right = "none" | "lead" | "send";

/** Of every reign of this process. */
export type KeptParts = {
  readonly ttlMs: number;
  readonly notes: Register;
  /** Of every budget of the config, as it is now. */
  readonly terms: () => readonly BudgetTerms[];
  readonly clock: Clock;
  readonly log: Log;
};

export type ReignParts = KeptParts & {
  readonly term: number;
  /** There was a leader before, and its notes should be there. */
  readonly isAfterLeader: boolean;
  /** As it was read while standing by. */
  readonly found: Found | undefined;
  readonly luck: () => Luck;
  readonly right: () => Right;
  /** Something was noted, or cannot be. */
  readonly onNoted: () => void;
};

type Write = { readonly n: string; readonly rows: Rows; readonly isRest: boolean };

/** When it is noted that a budget begins it may, and that takes a moment. */
const NOTED_WITHIN_MS = 250;

/** What is noted lasts from when it was written: it is written again, also where nothing has changed. */
const FACTS_EVERY_MS = 10 * SECOND_MS;
/** Whoever leads next would tell it again. */
const TOLD_WITHIN_MS = SECOND_MS;
/** Beside what cannot wait. */
const MOST_BYTES_PER_SECOND = 10_000;

const OTHERS_LEFT_OUT = "not all that the next leader should know has room in its notes";
const COUNTS_LEFT_OUT =
  "not all counts of quotas have room in the notes for the next leader: what counts against a quota or a spend is not sent";

/**
 * From winning the lock until losing it: it never comes back, the next one is another. It reads the notes, and writes them
 * back under its own life before anything is sent: then no late write of the leader before it can succeed any more.
 */
export class Reign implements NoteHome {
  readonly term: number;
  hasBegun = false;
  readonly #parts: ReignParts;
  #found: Found | undefined;
  #starts: Starts = new Map();
  #leases: LastLeases | undefined;
  readonly #rested = Promise.withResolvers<void>();
  /** What the leader before left, until there is more. */
  #factsNow: () => Facts | undefined = () => this.#factsLeft;
  #facts: Facts | undefined;
  #dueMs = Number.NEGATIVE_INFINITY;
  #bytes = 0;
  #lacksCount = false;
  #saidLeftOut = "";
  #version = "";
  #mustRead = true;
  #mustWrite = false;
  #last: Write | undefined;
  /** While there is none, nothing may be sent. */
  #noted: Write | undefined;
  /** The next write answers them. */
  #asked: PromiseWithResolvers<boolean> | undefined;
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

  /** What the leader before noted. */
  get left(): (Left & { readonly atMs: number }) | undefined {
    const facts = this.#factsLeft;
    // Its times are by another wall clock.
    return facts && { ...facts, laterByMs: this.#parts.clock.wallNow() - facts.atMs };
  }

  get #factsLeft(): Facts | undefined {
    const noted = this.#found?.noted;
    return typeof noted === "object" ? noted.facts : undefined;
  }

  /** The leader before left nothing, and should have. */
  get isLoss(): boolean {
    return this.#parts.isAfterLeader && typeof this.#found?.noted !== "object";
  }

  /**
   * By the monotonic clock: the cold start of this budget, or what is left of it. Of one that came with a reload it is
   * in the past: when it begins is its ledger's business.
   */
  startsAtMs(budget: string): number {
    const start = this.#starts.get(budget);
    if (start === undefined) return 0;
    const isNoted = isPolled(this.#noted?.rows.get(budget), start.terms);
    return isNoted ? start.atMs : start.atMs + NOTED_WITHIN_MS;
  }

  /** To be asked in the turn of a request's first byte. Without a budget: may anything be sent at all? */
  maySend(budget?: string): boolean {
    if (this.#noted === undefined || this.#parts.right() !== "send") return false;
    if (budget === undefined) return true;
    const start = this.#starts.get(budget);
    if (start === undefined || this.#nowMs < start.atMs) return false;
    return isPolled(this.#noted.rows.get(budget), start.terms);
  }

  /** From now on what is read is noted for the next leader. What is needed most comes first. */
  home(read: () => readonly Note[]): this {
    this.#factsNow = () => ({ atMs: Math.round(this.#parts.clock.wallNow()), notes: read() });
    this.#dueMs = this.#nowMs + Math.min(FACTS_EVERY_MS, this.#parts.ttlMs);
    return this;
  }

  /** All facts, each time: a pause, and what counts, for which the caller waits. False also while a count has no room. */
  write(): Promise<boolean> {
    if (this.#parts.right() === "none" || this.#noted === undefined) return Promise.resolve(false);
    this.#asked ??= Promise.withResolvers<boolean>();
    // What cannot be written now is written later, though nobody waits for it any more.
    this.#dueMs = this.#nowMs;
    this.#wake();
    return this.#asked.promise;
  }

  told(): void {
    this.#dueMs = Math.min(this.#dueMs, this.#nowMs + Math.max(TOLD_WITHIN_MS, this.#bytesMs));
    this.#wake();
  }

  /** After a reload: a budget sends under new terms once they are noted. */
  termsChanged(): void {
    if (this.#found === undefined) return;
    this.#starts = changedStarts(this.#starts, this.#parts.terms(), this.#found, this.#nowMs);
    this.#dueMs = this.#nowMs;
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

  /** Ends when what the next one must know is noted; or it had its time, and what was noted before stands. */
  async rest(leftMs: ReadonlyMap<string, number>): Promise<void> {
    const { ttlMs, clock } = this.#parts;
    this.#leases = { leftMs, atMs: this.#nowMs };
    this.#wake();
    await within(ttlMs / 4, this.#rested.promise, clock);
  }

  async keep(): Promise<void> {
    const { ttlMs, right, luck, clock, onNoted } = this.#parts;
    let failures = 0;
    while (right() !== "none") {
      this.#idle = new AbortController();
      const outcome = await this.#step();
      if (outcome === "unknown") this.#answer(false);
      if (outcome === "noted" || this.isForeign) onNoted();
      failures = outcome === "unknown" || outcome === "changed" ? failures + 1 : 0;
      if (outcome === "idle") await clock.sleep(Math.max(1, this.#nextChangeInMs), this.#idle.signal);
      else if (outcome === "unknown" || failures > 3) await clock.sleep(retryMs(ttlMs, failures - 1, luck()));
    }
    this.#answer(false);
  }

  async #step(): Promise<"read" | "noted" | "idle" | "changed" | "unknown"> {
    const { notes, luck } = this.#parts;
    if (this.#mustRead) {
      const reading = await notes.read().catch(() => undefined);
      if (reading === undefined) return "unknown";
      this.#mustRead = false;
      this.#read(reading);
      return this.#noted === undefined ? "read" : "noted";
    }
    this.#mustRead = this.isForeign;
    if (this.#mustRead) return "unknown";
    if (this.#nowMs >= this.#dueMs) this.#refresh();
    const write = { n: luck().id, rows: this.#rows, isRest: this.#leases !== undefined };
    if (this.#isNoted(write)) return "idle";
    this.#last = write;
    const isComplete = !this.#lacksCount;
    const asked = this.#asked;
    this.#asked = undefined;
    const text = notesText(write.n, write.rows, this.#facts);
    this.#bytes = text.length;
    const written = await notes.write(text, this.#version).catch(() => undefined);
    this.#mustRead = written?.kind !== "written";
    asked?.resolve(isComplete && !this.#mustRead);
    if (written?.kind !== "written") return written?.kind ?? "unknown";
    this.#version = written.version;
    this.#acknowledge(write);
    return "noted";
  }

  #read(reading: Reading): void {
    const found = foundIn(reading, this.#found, this.#nowMs);
    const noted = typeof found.noted === "object" ? found.noted : undefined;
    this.#version = reading.version;
    const own = noted?.n === this.#last?.n ? this.#last : undefined;
    if (own !== undefined) this.#acknowledge(own);
    this.#mustWrite = own === undefined || !reading.isSure;
    if (found.noted === "foreign") {
      this.#found = found;
      this.#noted = undefined;
    } else if (this.#noted === undefined) {
      this.#found = found;
      this.#starts = new Map(this.#parts.terms().map((terms) => [terms.budget, startOf(terms, found)]));
      this.#dueMs = this.#nowMs;
    }
  }

  #acknowledge(write: Write): void {
    this.#noted = write;
    this.#mustWrite = false;
    if (write.isRest) this.#rested.resolve();
  }

  #refresh(): void {
    const all = this.#factsNow();
    // More budgets may have come by a reload or with this leader: their rows come first.
    const rowsBytes = BYTES_OF_ALL + BYTES_OF_BUDGET * this.#starts.size;
    const notes = fitting(all?.notes ?? [], MOST_BYTES - rowsBytes);
    this.#tellLeftOut(all?.notes ?? [], notes);
    this.#facts = all && { ...all, notes };
    // What is left to wait becomes less.
    const isWaiting = [...this.#rows.values()].some(({ rest }) => rest !== undefined);
    const everyMs = isWaiting ? Math.min(FACTS_EVERY_MS, this.#parts.ttlMs) : FACTS_EVERY_MS;
    this.#dueMs = this.#nowMs + Math.max(everyMs, this.#bytesMs);
    this.#mustWrite = true;
  }

  #tellLeftOut(all: readonly Note[], noted: readonly Note[]): void {
    const leftOut = all.length - noted.length;
    this.#lacksCount = noted.length < all.filter(({ isCount }) => isCount === true).length;
    const said = leftOut === 0 ? "" : this.#lacksCount ? COUNTS_LEFT_OUT : OTHERS_LEFT_OUT;
    if (said !== "" && said !== this.#saidLeftOut)
      this.#parts.log[this.#lacksCount ? "error" : "warn"]({ leftOut }, said);
    this.#saidLeftOut = said;
  }

  get #bytesMs(): number {
    return (this.#bytes / MOST_BYTES_PER_SECOND) * SECOND_MS;
  }

  get #rows(): Rows {
    const row = (start: Parameters<typeof rowOf>[0]) =>
      rowOf(start, this.#leases, this.#parts.ttlMs, this.#nowMs);
    return new Map([...this.#starts].map(([budget, start]) => [budget, row(start)]));
  }

  #isNoted({ rows, isRest }: Write): boolean {
    const noted = this.#noted;
    if (noted === undefined || this.#mustWrite || noted.isRest !== isRest) return false;
    return (
      noted.rows.size === rows.size &&
      [...rows].every(([budget, row]) => isSameRow(noted.rows.get(budget), row))
    );
  }

  get #nextChangeInMs(): number {
    const moments = [...this.#starts.values()].flatMap(({ atMs, mixedUntilMs }) => [atMs, mixedUntilMs]);
    const dueInMs = this.#dueMs - this.#nowMs;
    return Math.min(dueInMs, ...moments.map((atMs) => atMs - this.#nowMs).filter((ms) => ms > 0));
  }

  get #nowMs(): number {
    return this.#parts.clock.now();
  }

  #wake(): void {
    // Without a reason it would make an exception, with its stack, each time.
    this.#idle.abort("woken");
  }

  #answer(isNoted: boolean): void {
    this.#asked?.resolve(isNoted);
    this.#asked = undefined;
  }
}
