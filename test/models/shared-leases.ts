/** Leases by the latest moment at which their request may be counted, soonest first; each once. */
export class SharedLeases {
  #byName = new Map<string, number>();
  #times: number[] = [];

  put(lease: string, countedByMs: number): void {
    this.remove(lease);
    this.#byName.set(lease, countedByMs);
    this.#times.splice(this.#firstAfter(countedByMs), 0, countedByMs);
  }

  remove(lease: string): boolean {
    const countedByMs = this.#byName.get(lease);
    if (countedByMs === undefined) return false;
    this.#byName.delete(lease);
    this.#times.splice(this.#firstAfter(countedByMs) - 1, 1);
    return true;
  }

  clear(): void {
    this.#byName.clear();
    this.#times = [];
  }

  dropUntil(atMs: number): void {
    const ended = this.#firstAfter(atMs);
    if (ended === 0) return;
    this.#times.splice(0, ended);
    for (const [lease, countedByMs] of this.#byName) if (countedByMs <= atMs) this.#byName.delete(lease);
  }

  /** The n-th from the end; undefined where there are fewer. */
  latest(n: number): number | undefined {
    return this.#times[this.#times.length - n];
  }

  countAfter(atMs: number): number {
    return this.#times.length - this.#firstAfter(atMs);
  }

  #firstAfter(atMs: number): number {
    let low = 0;
    let high = this.#times.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#times[middle] ?? 0) <= atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
