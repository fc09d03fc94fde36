/**
 * The last polls of one upstream, as plain numbers and shared words: sixty take 6 kB, and 23 as objects. Words are ours:
 * what an answer said is kept with the failures.
 */

import { PHASES, type Phase } from "../../kernel/exchange/exchange.ts";
import type { PollStatus } from "./kept-poll.ts";

/** Stands for undefined in arrays of numbers. */
const UNKNOWN = Number.NaN;

function known(number: number | undefined): number | undefined {
  return number === undefined || Number.isNaN(number) ? undefined : number;
}

/** Often the same for many polls in a row. */
type Words = Pick<PollStatus, "origin" | "outcome" | "reason" | "degraded" | "detail"> & {
  /** The id up to its number: the life of the process. */
  readonly life: string;
};

const AT_MS = 0;
const DURATION_MS = 1;
const STATUS = 2;
const ID_NUMBER = 3;
const PHASES_FROM = 4;
const NUMBERS_A_POLL = PHASES_FROM + PHASES.length;
const FIRST_POLLS = 4;

/** All that it holds. As objects, sixty polls of a thousand upstreams would take 100 MB where they are read. */
export type PackedPolls = {
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly words: Words[];
  readonly added: number;
};

/** The newest last. */
export function packedPolls(polls: readonly PollStatus[]): PackedPolls {
  const ring = new PollRing(polls.length);
  for (const poll of polls) ring.add(poll);
  return ring.packed;
}

export class PollRing {
  readonly #most: number;
  #numbers: Float64Array<ArrayBuffer>;
  readonly #words: Words[];
  /** How many polls were ever added. */
  #added: number;

  /** Goes on with those of `packed`, which become its own: of no more polls than it holds itself. */
  constructor(most: number, packed?: PackedPolls) {
    this.#most = most;
    this.#numbers = packed?.numbers ?? new Float64Array(FIRST_POLLS * NUMBERS_A_POLL);
    this.#words = packed?.words ?? [];
    this.#added = packed?.added ?? 0;
  }

  /** To be handed on: nothing is added here any more. */
  get packed(): PackedPolls {
    return { numbers: this.#numbers, words: this.#words, added: this.#added };
  }

  add(poll: PollStatus): void {
    const place = this.#added % this.#most;
    if ((place + 1) * NUMBERS_A_POLL > this.#numbers.length) this.#grow();
    const from = place * NUMBERS_A_POLL;
    this.#numbers[from + AT_MS] = poll.atMs;
    this.#numbers[from + DURATION_MS] = poll.durationMs;
    this.#numbers[from + STATUS] = poll.status ?? UNKNOWN;
    for (let index = 0; index < PHASES.length; index += 1) {
      const phase = PHASES[index];
      this.#numbers[from + PHASES_FROM + index] = (phase && poll.phasesMs[phase]) ?? UNKNOWN;
    }
    const { life, number } = partsOfId(poll.id);
    this.#numbers[from + ID_NUMBER] = number;
    const before = this.#words[(this.#added - 1 + this.#most) % this.#most];
    const words = wordsOf(poll, life);
    this.#words[place] = before !== undefined && saysTheSame(before, words) ? before : words;
    this.#added += 1;
  }

  /** If it is still kept. */
  markOffline(id: string): void {
    const { life, number } = partsOfId(id);
    const place = this.#words.findLastIndex(
      (each, index) =>
        each.life === life && Object.is(this.#numbers[index * NUMBERS_A_POLL + ID_NUMBER], number),
    );
    const words = this.#words[place];
    if (words === undefined) return;
    // The others of such a time share these words.
    const before = this.#words[(place - 1 + this.#most) % this.#most];
    const marked: Words = { ...words, outcome: "ours", reason: "offline" };
    this.#words[place] = before !== undefined && saysTheSame(before, marked) ? before : marked;
  }

  /** The newest last. */
  get all(): readonly PollStatus[] {
    const length = Math.min(this.#added, this.#most);
    return Array.from({ length }, (_, index) => this.#at((this.#added - length + index) % this.#most));
  }

  get newest(): PollStatus | undefined {
    return this.#added === 0 ? undefined : this.#at((this.#added - 1) % this.#most);
  }

  get okDurationsMs(): readonly number[] {
    return this.#words.flatMap(({ outcome }, place) =>
      outcome === "ok" ? [this.#numbers[place * NUMBERS_A_POLL + DURATION_MS] ?? 0] : [],
    );
  }

  #at(place: number): PollStatus {
    const from = place * NUMBERS_A_POLL;
    const words = this.#words[place];
    if (words === undefined) throw new Error("cannot read a poll that was never added");
    const { origin, outcome, reason, degraded, detail } = words;
    return {
      id: this.#idAt(place),
      origin,
      atMs: this.#numbers[from + AT_MS] ?? 0,
      outcome,
      reason,
      degraded,
      durationMs: this.#numbers[from + DURATION_MS] ?? 0,
      phasesMs: this.#phasesMsAt(from + PHASES_FROM),
      status: known(this.#numbers[from + STATUS]),
      detail,
      excerpt: undefined,
    };
  }

  #idAt(place: number): string {
    const number = known(this.#numbers[place * NUMBERS_A_POLL + ID_NUMBER]);
    const life = this.#words[place]?.life ?? "";
    return number === undefined ? life : idOf(life, number);
  }

  #phasesMsAt(from: number): PollStatus["phasesMs"] {
    const phasesMs: Partial<Record<Phase, number>> = {};
    for (const [index, phase] of PHASES.entries()) {
      const durationMs = known(this.#numbers[from + index]);
      if (durationMs !== undefined) phasesMs[phase] = durationMs;
    }
    return phasesMs;
  }

  #grow(): void {
    const larger = new Float64Array(Math.min(this.#most * NUMBERS_A_POLL, this.#numbers.length * 2));
    larger.set(this.#numbers);
    this.#numbers = larger;
  }
}

function idOf(life: string, number: number): string {
  return `${life}-${number.toString(36)}`;
}

/** Whatever an id is, the same comes of its parts. */
function partsOfId(id: string): { readonly life: string; readonly number: number } {
  const end = id.lastIndexOf("-");
  const life = id.slice(0, end);
  const number = Number.parseInt(id.slice(end + 1), 36);
  return end > 0 && idOf(life, number) === id ? { life, number } : { life: id, number: UNKNOWN };
}

function wordsOf({ origin, outcome, reason, degraded, detail }: PollStatus, life: string): Words {
  return { life, origin, outcome, reason, degraded, detail: outcome === "ok" ? detail : reason };
}

function saysTheSame(a: Words, b: Words): boolean {
  return (
    a.life === b.life &&
    a.detail === b.detail &&
    a.origin === b.origin &&
    a.outcome === b.outcome &&
    a.reason === b.reason &&
    a.degraded === b.degraded
  );
}
