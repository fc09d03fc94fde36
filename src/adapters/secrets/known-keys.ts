import { capText } from "../../core/text/escape.ts";
import { SecretFinder } from "./finder.ts";

/** The previous key may still appear for a while: in a request that is in flight, in a late error. */
const KEYS_PER_UPSTREAM = 2;

/** A longer text is cut: to search it would take too long. */
const HIDDEN_MAX_CHARS = 4_000;

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
    return new SecretFinder(keys).hide(capText(text, HIDDEN_MAX_CHARS));
  }
}
