import { SecretFinder, WITHHELD } from "./finder.ts";

/** The previous key may still appear for a while: in a request that is in flight, in a late error. */
const KEYS_PER_UPSTREAM = 2;

/** The keys that this process sends, to remove them from text that should not hold any: the report of a bug. */
export class KnownKeys {
  readonly #permanent: readonly string[];
  readonly #keys = new Map<string, readonly string[]>();

  constructor(permanent: Iterable<string>) {
    this.#permanent = [...permanent];
  }

  learn(upstream: string, key: string): void {
    const known = this.#keys.get(upstream) ?? [];
    if (known[0] !== key) this.#keys.set(upstream, [key, ...known].slice(0, KEYS_PER_UPSTREAM));
  }

  hide(text: string): string {
    const keys = [...this.#permanent, ...[...this.#keys.values()].flat()];
    const finder = new SecretFinder(keys);
    const hidden = finder.hide(text);
    // A key may be spread over lines of which none shows it.
    const joined = hidden.replaceAll("\n", " ");
    return finder.hide(joined) === joined ? hidden : WITHHELD;
  }
}
