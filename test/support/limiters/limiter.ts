/** A limiter that people put before their API, as it is, and what it answered by its own count. */

export type Allowance = { readonly requests: number; readonly perMs: number };

export type Answers = { readonly ok: number; readonly refused: number };

export type OpenLimiter = AsyncDisposable & {
  readonly url: string;
  /** Answers to GET so far. */
  answers(): Promise<Answers>;
};

export type Limiter = {
  readonly name: string;
  /** By which headers it tells its limit. */
  readonly tells: string;
  /** How often each of three upstreams is polled where the config is right, if 9 in any ten seconds are too many. */
  readonly every?: string;
  /** Each opening counts by itself. */
  open(allowance: Allowance): Promise<OpenLimiter>;
};

export const BODY: string = JSON.stringify({ ok: true });

export class Tally {
  #ok = 0;
  #refused = 0;
  #others = new Map<number, number>();

  add(status: number): void {
    if (status === 200) this.#ok += 1;
    else if (status === 429) this.#refused += 1;
    else this.#others.set(status, (this.#others.get(status) ?? 0) + 1);
  }

  get answers(): Answers {
    if (this.#others.size > 0) {
      const statuses = [...this.#others.keys()].join(", ");
      throw new Error(`a limiter must answer 200 or 429, received ${statuses}`);
    }
    return { ok: this.#ok, refused: this.#refused };
  }
}
