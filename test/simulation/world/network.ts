import type { Upstream } from "../../../src/kernel/config/config.ts";
import type { Exchange, Observation } from "../../../src/kernel/exchange/exchange.ts";
import type { VirtualClock } from "../../support/virtual/clock.ts";
import type { Words } from "./answers.ts";
import type { Dice } from "../generate/dice.ts";
import type { Fate } from "./fate.ts";
import type { Flight } from "./flight.ts";
import type { LifeClock } from "./life-clock.ts";
import type { Setup } from "./scenario.ts";

/** Whoever sends: an upstream of one life, and the keys that count its requests, one for each of its budgets. */
export type Sender = {
  readonly life: number;
  readonly clock: LifeClock;
  readonly upstream: Upstream;
  readonly credentials: readonly string[];
  /** As it was when its probe was made: a reload may come while it connects. */
  readonly setup?: Setup;
};

/** The world around the network. */
export type Surroundings = {
  readonly clock: VirtualClock;
  readonly dice: Dice;
  fateOf(sender: Sender, flight: Flight): Fate;
  sent(sender: Sender): Flight;
  counted(flight: Flight): void;
  ended(flight: Flight, exchange: Exchange, words: Words): void;
  /** How long after its socket's closing a request may still be counted. */
  lingerOf(flight: Flight): number;
};

type Open = {
  readonly flight: Flight;
  readonly sender: Sender;
  arrivesAtMs: number;
  arrival: { cancel(): void } | undefined;
  isCounted: boolean;
  isClosed: boolean;
};

/** What a probe throws where the weather is a bug of ours; any other bug is a real one. */
export class WeatherBug extends Error {}

const NO_WORDS: Words = {};

/** Carries requests and answers, late or never, and counts a request before it is answered. */
export class Network {
  readonly #around: Surroundings;
  readonly #open = new Set<Open>();

  constructor(around: Surroundings) {
    this.#around = around;
  }

  send(sender: Sender, signal: AbortSignal): Promise<Observation> {
    const { clock } = sender;
    const beganMs = clock.now();
    const flight = this.#around.sent(sender);
    const fate = this.#around.fateOf(sender, flight);
    return new Promise((resolve, reject) => {
      const open: Open = {
        flight,
        sender,
        arrivesAtMs: 0,
        arrival: undefined,
        isCounted: false,
        isClosed: false,
      };
      this.#open.add(open);
      const abort = (): void => close(broken("reset", fate.kind === "sent"));
      const close = (exchange: Exchange, words = NO_WORDS): void => {
        if (open.isClosed) return;
        deadline.cancel();
        signal.removeEventListener("abort", abort);
        this.#close(open);
        this.#around.ended(flight, exchange, words);
        if (fate.kind === "sent" && fate.ending === "bug") reject(new WeatherBug());
        else resolve(observed(exchange, clock.now() - beganMs));
      };
      const { timeoutMs } = sender.upstream;
      const deadline = clock.after(timeoutMs, () => close(broken("timeout", fate.kind === "sent")));
      signal.addEventListener("abort", abort, { once: true });
      if (fate.kind === "unsent") clock.after(fate.afterMs, () => close(broken("connect", false)));
      else this.#fly(open, fate, close);
    });
  }

  /** The process is gone, and its sockets with it; where the whole machine goes, nobody even closes them. */
  crash(life: number, takesTheMachine: boolean): void {
    for (const open of this.#open) {
      if (open.sender.life !== life) continue;
      this.#open.delete(open);
      open.isClosed = true;
      const { flight, sender } = open;
      const nowMs = this.#around.clock.now();
      const fromMs = takesTheMachine ? Math.max(nowMs, flight.sentAtMs + sender.upstream.timeoutMs) : nowMs;
      this.#countLate(open, fromMs + this.#around.lingerOf(flight));
    }
  }

  #fly(
    open: Open,
    fate: Extract<Fate, { kind: "sent" }>,
    close: (exchange: Exchange, words?: Words) => void,
  ): void {
    const { clock } = this.#around;
    open.arrivesAtMs = clock.now() + fate.thereMs;
    const returned = (): void => {
      // The process may stand still: then it reads this when it goes on.
      open.sender.clock.after(0, () => {
        if (fate.ending === "answer") close(fate.answer.exchange, fate.answer.words);
        else close(broken(fate.ending === "bug" ? "bug" : "reset", true, fate.ending === "cut"));
      });
    };
    const arrived = (): void => {
      this.#count(open);
      if (Number.isFinite(fate.backMs) && !open.isClosed) clock.after(fate.backMs, returned);
    };
    if (Number.isFinite(fate.thereMs)) open.arrival = clock.after(fate.thereMs, arrived);
  }

  #count(open: Open): void {
    open.isCounted = true;
    this.#around.counted(open.flight);
  }

  #close(open: Open): void {
    open.isClosed = true;
    this.#open.delete(open);
    if (open.arrival !== undefined && !open.isCounted) {
      this.#countLate(open, this.#around.clock.now() + this.#around.lingerOf(open.flight));
    }
  }

  /** What is under way when its socket closes is counted until then, or never. */
  #countLate(open: Open, untilMs: number): void {
    const { clock, dice } = this.#around;
    if (open.arrival === undefined || open.isCounted) return;
    open.arrival.cancel();
    if (dice.chance(0.1)) return;
    const atMs = Math.min(untilMs, dice.chance(0.5) ? untilMs : open.arrivesAtMs);
    clock.after(atMs - clock.now(), () => this.#count(open));
  }
}

function broken(fault: "timeout" | "connect" | "reset" | "bug", sent: boolean, hasHead = false): Exchange {
  const head = hasHead ? { status: 200, reasonPhrase: "", headers: [] } : undefined;
  return { kind: "broken", fault, detail: fault, sent, head };
}

function observed(exchange: Exchange, durationMs: number): Observation {
  return {
    exchange,
    durationMs,
    phasesMs: {},
    certificateExpiresAtMs: undefined,
    withoutKeys: String,
  };
}
