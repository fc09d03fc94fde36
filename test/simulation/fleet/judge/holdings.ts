/**
 * Who may poll what in a shard, as the store has told it: whoever claimed an upstream last. It knows no sessions and
 * no clocks, so it cannot be wrong about them.
 */
export class Holdings {
  readonly #lives = new Map<string, number>();
  /** How often each upstream was given to another life. */
  readonly moves: Map<string, number> = new Map();

  claimed(life: number, upstreams: readonly string[]): void {
    for (const upstream of upstreams) {
      const before = this.#lives.get(upstream);
      if (before === life) continue;
      this.#lives.set(upstream, life);
      if (before !== undefined) this.moves.set(upstream, (this.moves.get(upstream) ?? 0) + 1);
    }
  }

  holderOf(upstream: string): number | undefined {
    return this.#lives.get(upstream);
  }
}
