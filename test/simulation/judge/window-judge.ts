import type { Flight } from "../world/flight.ts";
import { covers } from "../world/terms.ts";

type Verdict = { readonly text: string; readonly flights: readonly Flight[] };

/**
 * The requests of one key in a window of one length that ends now, whatever changed meanwhile. The request that was
 * sent last decides which limit the window is held to: whoever sent it knew of all the others, and of the terms.
 */
export class WindowJudge {
  readonly #perMs: number;
  /** Up to here nothing can be wrong, so nothing is looked at. */
  readonly #harmless: number;
  #counted: { readonly atMs: number; readonly flight: Flight }[] = [];
  #start = 0;

  constructor(perMs: number, harmless: number) {
    this.#perMs = perMs;
    this.#harmless = harmless;
  }

  count(flight: Flight, atMs: number): Verdict | undefined {
    this.#counted.push({ atMs, flight });
    while ((this.#counted[this.#start]?.atMs ?? atMs) <= atMs - this.#perMs) this.#start += 1;
    if (this.#start > 64 && this.#start * 2 > this.#counted.length) {
      this.#counted = this.#counted.slice(this.#start);
      this.#start = 0;
    }
    const size = this.#counted.length - this.#start;
    return size <= this.#harmless && flight.loweredCaps.size === 0 ? undefined : this.#judge();
  }

  #judge(): Verdict | undefined {
    const flights = this.#counted.slice(this.#start).map(({ flight }) => flight);
    const last = flights.reduce((a, b) => (b.number > a.number ? b : a));
    const limit = last.terms.rates.find((rate) => rate.perMs === this.#perMs)?.requests;
    if (limit === undefined) return undefined;
    const known = flights.filter(
      (flight) =>
        flight.life === last.life || flight.terms === last.terms || covers(last.terms, flight.terms),
    );
    if (known.length > limit) return verdict(known, this.#perMs, `at most ${limit} are allowed`);
    const loweredCap = last.loweredCaps.get(this.#perMs);
    const own = flights.filter((flight) => flight.life === last.life && flight.budget === last.budget);
    if (loweredCap === undefined || own.length <= loweredCap) return undefined;
    return verdict(own, this.#perMs, `the upstream had asked for ${loweredCap} at most`);
  }
}

function verdict(flights: readonly Flight[], perMs: number, allowed: string): Verdict {
  const text = `the key ${flights[0]?.credential} counted ${flights.length} requests within ${perMs} ms of its clock, ${allowed}`;
  return { text, flights };
}
