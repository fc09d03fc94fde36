import type { Exchange } from "../../../../src/core/exchange/exchange.ts";
import type { VirtualClock } from "../../../support/virtual/clock.ts";
import type { Words } from "../../world/answers.ts";
import type { Dice } from "../../generate/dice.ts";
import type { Fate } from "../../world/fate.ts";
import type { Flight } from "../../world/flight.ts";
import type { Sender, Surroundings } from "../../world/network.ts";
import type { Setup } from "../../world/scenario.ts";
import type { Traffic } from "../../world/traffic.ts";
import type { Holdings } from "./holdings.ts";

export type FleetTrafficParts = {
  readonly traffic: Traffic;
  readonly setup: Setup;
  /** Undefined where all poll all. */
  readonly holdings: Holdings | undefined;
  readonly nameOf: (life: number) => string;
  readonly violate: (text: string) => void;
};

/** The traffic of a fleet: an owner counts in time, whoever stands still, and nobody polls what another one holds. */
export class FleetTraffic implements Surroundings {
  readonly clock: VirtualClock;
  readonly dice: Dice;
  readonly #parts: FleetTrafficParts;
  /** On their way, by upstream. */
  readonly #open = new Map<string, Map<Flight, Sender>>();
  readonly #timeoutsMs: ReadonlyMap<string, number>;

  constructor(parts: FleetTrafficParts) {
    this.#parts = parts;
    this.clock = parts.traffic.clock;
    this.dice = parts.traffic.dice;
    this.#timeoutsMs = new Map(parts.setup.upstreams.map(({ name, timeoutMs }) => [name, timeoutMs]));
  }

  sent(sender: Sender): Flight {
    const { name } = sender.upstream;
    const open = this.#open.get(name) ?? new Map<Flight, Sender>();
    this.#open.set(name, open);
    if (this.#parts.holdings !== undefined) this.#expectAlone(sender, this.#parts.holdings, open);
    const flight = this.#parts.traffic.sent(sender);
    open.set(flight, sender);
    return flight;
  }

  /** What no fleet can do without: a request is counted within timeout and linger of its sending, or never. */
  fateOf(sender: Sender, flight: Flight): Fate {
    const fate = this.#parts.traffic.fateOf(sender, flight);
    if (fate.kind === "unsent" || !Number.isFinite(fate.thereMs)) return fate;
    return { ...fate, thereMs: Math.min(fate.thereMs, this.#afterlifeMs(flight)) };
  }

  counted(flight: Flight): void {
    this.#parts.traffic.counted(flight);
  }

  ended(flight: Flight, exchange: Exchange, words: Words): void {
    this.#open.get(flight.upstream)?.delete(flight);
    this.#parts.traffic.ended(flight, exchange, words);
  }

  lingerOf(flight: Flight): number {
    const leftMs = flight.sentAtMs + this.#afterlifeMs(flight) - this.clock.now();
    return Math.max(0, Math.min(leastLingerMs(flight), leftMs));
  }

  /** The sockets of a dead life are nobody's any more. */
  forget(life: number): void {
    for (const open of this.#open.values()) {
      for (const [flight, sender] of open) if (sender.life === life) open.delete(flight);
    }
  }

  #afterlifeMs(flight: Flight): number {
    return (this.#timeoutsMs.get(flight.upstream) ?? 0) + leastLingerMs(flight);
  }

  #expectAlone(sender: Sender, holdings: Holdings, open: ReadonlyMap<Flight, Sender>): void {
    const { nameOf, violate } = this.#parts;
    const { name } = sender.upstream;
    const holder = holdings.holderOf(name);
    if (holder !== sender.life) {
      const who = holder === undefined ? "nobody" : nameOf(holder);
      violate(`${nameOf(sender.life)} polls ${name}, and ${who} holds it`);
    }
    for (const [flight, other] of open) {
      // A process that stands still cannot close what it sent before.
      if (other.life === sender.life || other.clock.isStandingStill) continue;
      const forMs = Math.round(this.clock.now() - flight.sentAtMs);
      violate(
        `${nameOf(sender.life)} polls ${name}, and ${nameOf(other.life)} has a request open since ${forMs} ms`,
      );
    }
  }
}

/** The owner lets a request count for as long as each of its budgets is told, and no longer. */
function leastLingerMs({ terms, also }: Flight): number {
  return Math.min(terms.lingerMs, ...also.map((flight) => flight.terms.lingerMs));
}
