import { SecretFinder, WITHHELD } from "./finder.ts";

/** The previous key may still appear for a while: in a request that is in flight, in a late error. */
const KEYS_PER_OWNER = 2;

/** The keys that one probe or the whole process sends, to remove them from text. */
export class KnownKeys {
  readonly #permanent: readonly string[];
  readonly #keys = new Map<string, readonly string[]>();
  #finder: SecretFinder | undefined;

  constructor(permanent: Iterable<string>) {
    this.#permanent = [...permanent];
  }

  get all(): readonly string[] {
    return [...this.#permanent, ...[...this.#keys.values()].flat()];
  }

  learn(owner: string, key: string): void {
    const known = this.#keys.get(owner) ?? [];
    if (known[0] === key) return;
    this.#keys.set(owner, [key, ...known].slice(0, KEYS_PER_OWNER));
    this.#finder = undefined;
  }

  /** An answer is searched line by line. */
  readonly hideInLines = (text: string): string => (this.#finder ??= new SecretFinder(this.all)).hide(text);

  /** The report of a bug may have a key spread over lines of which none shows it. */
  hide(text: string): string {
    const hidden = this.hideInLines(text);
    const joined = hidden.replaceAll("\n", " ");
    return this.hideInLines(joined) === joined ? hidden : WITHHELD;
  }
}
