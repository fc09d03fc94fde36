/** The moments at which settled leases end, soonest first. Never longer than the cap that admits them. */
export class Expiries {
  #times: number[] = [];
  /** Ended ones before this index are dropped in bulk, so that a drop costs nothing amortised. */
  #start = 0;

  get size(): number {
    return this.#times.length - this.#start;
  }

  /** Nearly always the latest so far: only a lingering one is passed by later, shorter ones. */
  add(atMs: number): void {
    let index = this.#times.length;
    while (index > this.#start && (this.#times[index - 1] ?? 0) > atMs) index -= 1;
    this.#times.splice(index, 0, atMs);
  }

  dropUntil(nowMs: number): void {
    while (this.#start < this.#times.length && (this.#times[this.#start] ?? 0) <= nowMs) this.#start += 1;
    if (this.#start > 32 && this.#start * 2 > this.#times.length) {
      this.#times = this.#times.slice(this.#start);
      this.#start = 0;
    }
  }

  /** When the n-th of those left ends (1 is the soonest); undefined where fewer are left. */
  nth(n: number): number | undefined {
    return this.#times[this.#start + n - 1];
  }
}
