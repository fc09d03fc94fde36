import type { Upstream } from "../config/config.ts";
import type { Poll } from "../poll/poll.ts";
import { type Field, field } from "../text/field.ts";

/** A word, how often it came, and a moment at which it had not come yet. */
export type Count<Word> = { readonly word: Word; count: number; readonly startedAtMs: number };

/** A few of many words, in the order of their first time: most upstreams never see most of them. */
export class Tally<Word> {
  counts: readonly Count<Word>[] = [];

  add(word: Word, amount: number, startedAtMs: number): void {
    const known = this.#find(word);
    // A push or a spread reserves 17 places.
    if (known === undefined) this.counts = this.counts.concat({ word, count: amount, startedAtMs });
    else known.count += amount;
  }

  of(word: Word): number {
    return this.#find(word)?.count ?? 0;
  }

  /** The counts of these words too, which began at that moment and may not have come yet. */
  with(words: readonly Word[], startedAtMs: number): readonly Count<Word>[] {
    const unseen = words.filter((word) => this.#find(word) === undefined);
    if (unseen.length === 0) return this.counts;
    return [...unseen.map((word) => ({ word, count: 0, startedAtMs })), ...this.counts];
  }

  get total(): number {
    return this.counts.reduce((sum, { count }) => sum + count, 0);
  }

  #find(word: Word): Count<Word> | undefined {
    return this.counts.find((each) => each.word === word);
  }
}

/** A feature counts this of an upstream. */
export interface Counts {
  judged(poll: Poll): void;
}

/** Opened for an upstream whose config asks for it. */
export type Counter<Kept extends Counts = Counts> = Field<Kept> & {
  readonly open: (upstream: Upstream, startedAtMs: number) => Kept | undefined;
};

export function counterOf<Kept extends Counts>(name: string, open: Counter<Kept>["open"]): Counter<Kept> {
  return { ...field<Kept>(name), open };
}
