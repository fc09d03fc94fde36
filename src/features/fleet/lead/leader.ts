/**
 * One process of a fleet leads, the others stand by. `register.ts` is the lock's port, `election.ts` decides who leads,
 * `notes.ts` when the next leader may begin and by what, `reign.ts` keeps that noted, and here is all brought together.
 */

import type { Clock } from "../../../kernel/time/clock.ts";
import {
  type Answer,
  type Election,
  hasRight,
  type Heard,
  isOwn,
  type LockCall,
  type Luck,
  type Mine,
  next,
  openElection,
  wakeAtMs,
} from "./election.ts";
import { type Found, foundIn } from "./notes.ts";
import { type LockPerson, lockText } from "./record.ts";
import type { Register } from "./register.ts";
import { type KeptParts, Reign, type Right } from "./reign.ts";

export interface LeadClock extends Clock {
  /** Milliseconds since the machine booted: they go on while it is suspended, and no step of the wall clock moves them. */
  sinceBootMs(): number;
}

export type LeaderParts = KeptParts & {
  readonly lock: Register;
  /** As people find it there. */
  readonly key: string;
  readonly clock: LeadClock;
  readonly name: string;
  readonly url: string | undefined;
  /** Of the config, as it is now. */
  readonly digest: () => string;
  readonly random: () => number;
  /** Another text each time. */
  readonly newId: () => string;
  /** Called once in a reign, when something may be sent. */
  readonly onLead: (reign: Reign) => void;
  /** The reign has ended for good, though `stop` was not called. */
  readonly onLost: () => void;
};

export type LeadState = {
  /** `election`: nobody is known to lead. `foreign`: what stands in the lock, or in the notes, is not ours, or newer. */
  readonly role: "leading" | "standby" | "election" | "foreign";
  readonly leader: LockPerson | undefined;
  /** No call to the lock has been answered since then, by the monotonic clock. */
  readonly unreachableSinceMs: number | undefined;
};

const FOREIGN = "what stands at the lock's key, or at its notes', is not ours or newer: standing by";

export class Leader {
  readonly #parts: LeaderParts;
  readonly #ended: Promise<void>;
  #election: Election;
  #reign: Reign | undefined;
  #sinceWallMs = 0;
  #unreachableSinceMs: number | undefined;
  #sleeping = new AbortController();
  /** The notes, as they were read while standing by. */
  #found: Found | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #wasForeign = false;

  constructor(parts: LeaderParts) {
    this.#parts = parts;
    this.#election = openElection(parts.newId(), parts.ttlMs, this.#now());
    this.#ended = this.#live();
  }

  get state(): LeadState {
    const { seen, life } = this.#election;
    const record = seen?.record;
    const unreachableSinceMs = this.#unreachableSinceMs;
    if (record === "foreign" || this.#reign?.isForeign === true)
      return { role: "foreign", leader: undefined, unreachableSinceMs };
    const isHeld = record !== undefined && record.life !== null && !record.isFree;
    const isMe = record?.life === life;
    const leader = isHeld ? (isMe ? this.#person : record.person) : undefined;
    const leads = this.#reign?.hasBegun === true && hasRight(this.#election, this.#now());
    const role = leads ? "leading" : isHeld && !isMe ? "standby" : "election";
    return { role, leader, unreachableSinceMs };
  }

  /**
   * Nothing is sent from now on. It leads on until `drained` tells for each budget how many ms its last lease still
   * counts, or its own start is away: 0 where neither is. It notes that, frees the lock and ends; or ends without, soon
   * after its right would have ended.
   */
  async stop(drained: Promise<ReadonlyMap<string, number>>): Promise<void> {
    this.#hear({ kind: "stop" });
    this.#wake();
    // A budget that is not told of counts as in use.
    const leftMs = await drained.catch((): ReadonlyMap<string, number> => new Map());
    if (this.#reign?.hasBegun === true) await Promise.race([this.#reign.rest(leftMs), this.#ended]);
    this.#hear({ kind: "drained" });
    this.#wake();
    await this.#ended;
  }

  async #live(): Promise<void> {
    const { clock } = this.#parts;
    this.#step();
    while (!this.#election.isOver) {
      this.#sleeping = new AbortController();
      await clock.sleep(Math.max(1, wakeAtMs(this.#election) - clock.now()), this.#sleeping.signal);
      this.#step();
    }
  }

  #step(): void {
    const { log, key, onLead } = this.#parts;
    this.#hear({ kind: "tick" });
    this.#lookAtNotes();
    const reign = this.#reign;
    if (reign?.begin() === true) {
      log.info({ term: reign.term }, "leading: this process polls from now on");
      onLead(reign);
    }
    const { role } = this.state;
    const isForeign = role === "foreign";
    if (isForeign && !this.#wasForeign) log.error({ key }, FOREIGN);
    if (reign?.isForeign === true && reign.hasBegun) this.#hear({ kind: "foreign notes" });
    // Until it takes the lock again, nobody is known to lead.
    if (role !== "election") this.#wasForeign = isForeign;
  }

  /** What it waits for may have come. */
  #wake(): void {
    // Without a reason it would make an exception, with its stack, each time.
    this.#sleeping.abort("woken");
  }

  #hear(heard: Heard): void {
    const before = this.#election;
    const after = next(before, heard, this.#now(), this.#luck());
    this.#election = after;
    this.#reignBy(before, after);
    if (after.call !== undefined && after.call !== before.call) void this.#ask(after.call);
  }

  async #ask(call: LockCall): Promise<void> {
    const { lock, clock } = this.#parts;
    const { kind, record, version } = call;
    if (kind === "take") this.#sinceWallMs = Math.floor(clock.wallNow());
    const asked = record === undefined ? read(lock) : lock.write(lockText(record, this.#person), version);
    const answer = await asked.catch((): Answer => ({ kind: "unknown" }));
    const sinceMs = this.#unreachableSinceMs ?? call.begun.monoMs;
    this.#unreachableSinceMs = answer.kind === "unknown" ? sinceMs : undefined;
    this.#hear({ kind: "answer", answer });
    this.#step();
    this.#wake();
  }

  #reignBy(before: Election, { mine, seen, stop, life }: Election): void {
    const { log, onLost } = this.#parts;
    const reign = this.#reign;
    if (mine === undefined) {
      this.#reign = undefined;
      if (reign?.hasBegun !== true || stop !== undefined) return;
      log.warn({ term: reign.term }, "not leading any more: this process stands by");
      onLost();
    } else if (reign === undefined) {
      this.#reign = this.#reignOf(mine);
      void this.#reign.keep();
    } else if (!isOwn(life, seen?.record) || seen?.era !== before.seen?.era) reign.doubt();
  }

  #reignOf({ term, isAfterLeader }: Mine): Reign {
    const right = (): Right => {
      if (this.#election.mine?.term !== term || !hasRight(this.#election, this.#now())) return "none";
      return this.#election.stop === undefined ? "send" : "lead";
    };
    return new Reign({
      ...this.#parts,
      term,
      isAfterLeader,
      right,
      found: this.#found,
      luck: () => this.#luck(),
      onNoted: () => {
        this.#step();
        this.#wake();
      },
    });
  }

  /** What is left to wait by them counts from when they were first read: so while it waits for the lock. */
  #lookAtNotes(): void {
    const { mine, seen } = this.#election;
    const { monoMs } = this.#now();
    if (mine !== undefined || seen === undefined || this.#lookedAtMs >= seen.atMs) return;
    // At first, and when the leader is silent.
    if (this.#lookedAtMs > Number.NEGATIVE_INFINITY && monoMs < seen.atMs + 0.3 * this.#parts.ttlMs) return;
    this.#lookedAtMs = monoMs;
    const keep = (answer: Answer): void => {
      if (answer.kind === "read") this.#found = foundIn(answer.reading, this.#found, this.#now().monoMs);
    };
    read(this.#parts.notes).then(keep, () => {});
  }

  get #person(): LockPerson {
    const { name, url, digest } = this.#parts;
    return { name, url, digest: digest(), sinceWallMs: this.#sinceWallMs };
  }

  #now(): { readonly monoMs: number; readonly bootMs: number } {
    const { clock } = this.#parts;
    return { monoMs: clock.now(), bootMs: clock.sinceBootMs() };
  }

  #luck(): Luck {
    return { part: this.#parts.random(), id: this.#parts.newId() };
  }
}

async function read(register: Register): Promise<Answer> {
  return { kind: "read", reading: await register.read() };
}
