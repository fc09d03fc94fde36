import { SecretFinder } from "../secrets/finder.ts";

/** Knows the secrets of one probe, and keeps them out of what is kept of its answers. */
export class SecretRedactor {
  readonly #permanent: readonly string[];
  #key: string | undefined;
  #keys: readonly string[];
  #finder: SecretFinder;

  constructor(permanent: readonly string[]) {
    this.#permanent = permanent;
    this.#keys = permanent;
    this.#finder = new SecretFinder(permanent);
  }

  get keys(): readonly string[] {
    return this.#keys;
  }

  /** Keys rotate: the previous one is remembered too. */
  learn(key: string): void {
    if (key === this.#key) return;
    const before = this.#key === undefined ? [] : [this.#key];
    this.#key = key;
    this.#keys = [key, ...before, ...this.#permanent];
    this.#finder = new SecretFinder(this.#keys);
  }

  readonly hide = (text: string): string => this.#finder.hide(text);
}
