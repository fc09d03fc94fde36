import { SecretFinder } from "./finder.ts";

/** Below this, a key would be found in innocent text. */
const SHORTEST_SEARCHED = 8;

/** What came before goes on being said for a while: a request that was begun with it, an error that is told late. */
const KEPT_OF_EACH = 2;

/** The keys that this process sends, for searching what nobody foresaw to hold one: the report of a bug. */
export class KnownKeys {
  readonly #lasting: readonly string[];
  readonly #keys = new Map<string, readonly string[]>();

  constructor(lasting: Iterable<string>) {
    this.#lasting = [...lasting];
  }

  learn(upstream: string, key: string): void {
    const known = this.#keys.get(upstream) ?? [];
    if (known[0] !== key) this.#keys.set(upstream, [key, ...known].slice(0, KEPT_OF_EACH));
  }

  hide(text: string): string {
    const keys = [...this.#lasting, ...[...this.#keys.values()].flat()];
    return new SecretFinder(keys.filter(({ length }) => length >= SHORTEST_SEARCHED)).hide(text);
  }
}
