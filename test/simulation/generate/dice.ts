import { hash32 } from "../../../src/kernel/schedule/hash.ts";
import { seededRandom } from "../../../src/simulator/randomness.ts";

/** All chance comes from here: the same seed throws the same. */
export class Dice {
  readonly #seed: string;
  readonly #roll: () => number;

  constructor(seed: string) {
    this.#seed = seed;
    this.#roll = seededRandom(hash32(seed));
  }

  /** Dice of its own for each concern: what one throws more or less does not change what another throws. */
  fork(concern: string): Dice {
    return new Dice(`${this.#seed}/${concern}`);
  }

  chance(probability: number): boolean {
    return this.#roll() < probability;
  }

  between(min: number, max: number): number {
    return min + (max - min) * this.#roll();
  }

  /** Both ends included. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.#roll() * (max - min + 1));
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.#roll() * items.length)];
    if (item === undefined)
      throw new Error(`cannot pick: "items" must not be empty, received ${items.length}`);
    return item;
  }
}
