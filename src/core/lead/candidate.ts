import {
  type Answer,
  type Election,
  hasRight,
  isOwn,
  type Heard,
  type Instant,
  type LockCall,
  type Luck,
  next,
  openElection,
  wakeAtMs,
} from "./election.ts";
import {
  type BudgetTerms,
  mayBegin,
  type Notes,
  type NotesCall,
  type NotesHeard,
  nextNotes,
  notesText,
  openNotes,
  startsAtMs,
} from "./notes.ts";
import { lockText } from "./record.ts";
import { MOST_BYTES, type Reading } from "./register.ts";

/** One call to a register. Its answer may come late, or never. */
export type Call = {
  readonly of: "lock" | "notes";
  /** Undefined: it reads. */
  readonly write: { readonly text: string; readonly version: string } | undefined;
  readonly answer: (answer: Answer<Reading>) => void;
};

export type CandidateParts = {
  readonly ttlMs: number;
  readonly name: string;
  readonly url: string | undefined;
  /** Of the config, as it is now. */
  readonly digest: () => string;
  /** Of every budget of the config, as it is now. */
  readonly terms: () => readonly BudgetTerms[];
  readonly now: () => Instant;
  readonly wallNow: () => number;
  readonly random: () => number;
  /** Another text each time. */
  readonly newId: () => string;
  readonly ask: (call: Call) => void;
  /** Called once in a reign, when something may be sent. */
  readonly onLead: (reign: Reign) => void;
  /** The reign has ended for good, though `stop` was not called. */
  readonly onLost: (reign: Reign) => void;
};

/** From winning the lock until losing it. It never comes back: the next one is another. */
export interface Reign {
  readonly term: number;
  /** What the leader before wrote, in `facts` as it was given to `write`. */
  readonly found:
    | { readonly kind: "notes"; readonly facts: unknown; readonly isSure: boolean }
    /** `isLoss`: there was a leader before, and its notes should be there. */
    | { readonly kind: "none"; readonly isLoss: boolean };
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
  /** After a reload: a budget sends under new terms once they are noted. */
  termsChanged(): void;
}

export type LeadState = {
  /** `election`: nobody is known to lead. `foreign`: what stands in the lock is not ours, or newer. */
  readonly role: "leading" | "standby" | "election" | "foreign";
  readonly leader: Leading | undefined;
  /** No call to the lock has been answered since then, by the monotonic clock. */
  readonly unreachableSinceMs: number | undefined;
};

export type Leading = {
  readonly name: string;
  readonly url: string | undefined;
  readonly term: number;
  readonly digest: string;
  readonly isMe: boolean;
  /** By the leader's wall clock. */
  readonly sinceWallMs: number;
};

/** One process in an election: `election.ts` and `notes.ts` decide, and this asks what they ask for. */
export class Candidate {
  readonly #parts: CandidateParts;
  #election: Election;
  #reign: OwnReign | undefined;
  #sinceWallMs = 0;
  #unreachableSinceMs: number | undefined;

  constructor(parts: CandidateParts) {
    this.#parts = parts;
    this.#election = openElection(parts.newId(), parts.ttlMs, parts.now());
  }

  /** It was stopped, and has nothing more to do. */
  get isOver(): boolean {
    return this.#election.isOver;
  }

  /** When to call `wake`, by the monotonic clock. */
  get wakeAtMs(): number {
    return Math.min(wakeAtMs(this.#election), this.#reign?.wakeAtMs ?? Infinity);
  }

  wake(): void {
    this.#hear({ kind: "tick" });
    const reign = this.#reign;
    reign?.hear({ kind: "tick" });
    if (reign?.begin() === true) this.#parts.onLead(reign);
    if (reign?.hasRested() === true && this.#election.stop === "draining") this.#hear({ kind: "drained" });
  }

  /** Nothing is sent from now on, but it leads on until `drained` is called. */
  stop(): void {
    this.#hear({ kind: "stop" });
    this.wake();
  }

  /** How long each budget's last lease still counts. It is noted before the lock is freed. */
  drained(leftMs: ReadonlyMap<string, number>): void {
    if (this.#reign?.hasBegun === true) this.#reign.hear({ kind: "leases", leftMs });
    else this.#hear({ kind: "drained" });
    this.wake();
  }

  get state(): LeadState {
    const { seen, life } = this.#election;
    const { record } = seen ?? {};
    const unreachableSinceMs = this.#unreachableSinceMs;
    if (record === "foreign") return { role: "foreign", leader: undefined, unreachableSinceMs };
    const { person, term = 0 } = record ?? {};
    const isMe = record?.life === life;
    const isHeld = record !== undefined && record.life !== null && !record.isFree && person !== undefined;
    const leader = isHeld ? { ...person, term, isMe } : undefined;
    if (hasRight(this.#election, this.#parts.now())) return { role: "leading", leader, unreachableSinceMs };
    return { role: isHeld && !isMe ? "standby" : "election", leader, unreachableSinceMs };
  }

  #hear(heard: Heard): void {
    const before = this.#election;
    const after = next(before, heard, this.#parts.now(), this.#luck());
    this.#election = after;
    const isAnswer = heard.kind === "answer" && heard.call === before.call?.id;
    const isGivenUp = !isAnswer && before.call !== undefined && after.call !== before.call;
    if (isGivenUp || (isAnswer && heard.answer.kind === "unknown"))
      this.#unreachableSinceMs ??= before.call?.begun.monoMs;
    else if (isAnswer) this.#unreachableSinceMs = undefined;
    this.#reignBy(before, after);
    if (after.call !== undefined && after.call !== before.call) this.#askLock(after.call);
  }

  #reignBy(before: Election, after: Election): void {
    const reign = this.#reign;
    if (after.mine === undefined) {
      this.#reign = undefined;
      reign?.end();
      if (reign?.hasBegun === true && after.stop === undefined) this.#parts.onLost(reign);
    } else if (reign === undefined) {
      const { term, follows } = after.mine;
      const right = (): Right => {
        if (this.#election.mine?.term !== term || !hasRight(this.#election, this.#parts.now())) return "none";
        return this.#election.stop === undefined ? "send" : "lead";
      };
      this.#reign = new OwnReign({
        ...this.#parts,
        term,
        follows,
        right,
        luck: () => this.#luck(),
        wake: () => this.wake(),
      });
    } else if (!isOwn(after, after.seen?.record) || after.seen?.era !== before.seen?.era)
      reign.hear({ kind: "doubt" });
  }

  #askLock({ id, kind, record, version }: LockCall): void {
    const { name, url, digest, wallNow, ask } = this.#parts;
    if (kind === "take") this.#sinceWallMs = wallNow();
    const person = { name, url, digest: digest(), sinceWallMs: Math.floor(this.#sinceWallMs) };
    ask({
      of: "lock",
      write: record && { text: lockText(record, person), version },
      answer: (answer) => {
        this.#hear({ kind: "answer", call: id, answer });
        this.wake();
      },
    });
  }

  #luck(): Luck {
    return { part: this.#parts.random(), id: this.#parts.newId() };
  }
}

/** `lead`: to note and to free, but to send nothing more. */
type Right = "none" | "lead" | "send";

type ReignParts = Pick<CandidateParts, "ttlMs" | "terms" | "now" | "ask"> & {
  readonly term: number;
  readonly follows: "leader" | "nobody";
  readonly right: () => Right;
  readonly luck: () => Luck;
  readonly wake: () => void;
};

class OwnReign implements Reign {
  readonly term: number;
  hasBegun = false;
  readonly #parts: ReignParts;
  #notes: Notes;
  #waiting: readonly { readonly factsCount: number; readonly resolve: (isNoted: boolean) => void }[] = [];

  constructor(parts: ReignParts) {
    this.#parts = parts;
    this.term = parts.term;
    this.#notes = openNotes(parts.ttlMs, parts.now());
  }

  get wakeAtMs(): number {
    return this.#notes.tickAtMs;
  }

  get found(): Reign["found"] {
    const { noted, isSure } = this.#notes.found ?? {};
    if (typeof noted === "object") return { kind: "notes", facts: noted.facts, isSure: isSure === true };
    return { kind: "none", isLoss: this.#parts.follows === "leader" };
  }

  startsAtMs(budget: string): number {
    return startsAtMs(this.#notes, budget);
  }

  maySend(budget?: string): boolean {
    if (this.#notes.acked === undefined || this.#parts.right() !== "send") return false;
    return budget === undefined || mayBegin(this.#notes, budget, this.#parts.now());
  }

  write(facts: unknown): Promise<boolean> {
    const { acked } = this.#notes;
    if (this.#parts.right() === "none" || acked === undefined) return Promise.resolve(false);
    const bytes = new TextEncoder().encode(notesText(acked, facts)).length;
    if (bytes > MOST_BYTES) return Promise.resolve(false);
    this.hear({ kind: "facts", facts });
    const { factsCount } = this.#notes;
    return new Promise((resolve) => {
      this.#waiting = [...this.#waiting, { factsCount, resolve }];
      this.hear({ kind: "tick" });
    });
  }

  termsChanged(): void {
    this.hear({ kind: "terms" });
    this.hear({ kind: "tick" });
  }

  /** Whether it may begin, once. */
  begin(): boolean {
    if (this.hasBegun || !this.maySend()) return false;
    this.hasBegun = true;
    // The config may have changed since it was noted.
    this.termsChanged();
    return true;
  }

  /** What the next one must know is noted; or has had its time, then what was noted before stands. */
  hasRested(): boolean {
    const { acked, leases, ttlMs } = this.#notes;
    if (leases === undefined) return false;
    return acked?.isRest === true || this.#parts.now().monoMs >= leases.atMs + ttlMs / 4;
  }

  end(): void {
    this.#settle(() => false);
  }

  hear(heard: NotesHeard): void {
    const { terms, now, ask, luck, right } = this.#parts;
    if (heard.kind === "tick" && right() === "none") return;
    const before = this.#notes;
    const after = nextNotes(before, heard, terms, now(), luck());
    this.#notes = after;
    const { acked, failures, call } = after;
    const isUnknown = heard.kind !== "answer" || heard.answer.kind === "unknown";
    if (failures > before.failures && isUnknown) this.#settle(() => false);
    else
      this.#settle((factsCount) =>
        acked !== undefined && acked.factsCount >= factsCount ? true : undefined,
      );
    if (call !== undefined && call !== before.call) this.#ask(call, ask);
  }

  #ask({ id, write, version }: NotesCall, ask: CandidateParts["ask"]): void {
    ask({
      of: "notes",
      write: write && { text: notesText(write, this.#notes.facts), version },
      answer: (answer) => {
        this.hear({ kind: "answer", call: id, answer });
        this.#parts.wake();
      },
    });
  }

  #settle(outcome: (factsCount: number) => boolean | undefined): void {
    this.#waiting = this.#waiting.filter(({ factsCount, resolve }) => {
      const isNoted = outcome(factsCount);
      if (isNoted !== undefined) resolve(isNoted);
      return isNoted === undefined;
    });
  }
}
