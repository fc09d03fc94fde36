import type { Exchange } from "../../../src/core/exchange/exchange.ts";
import type { VirtualClock } from "../../support/virtual/clock.ts";
import type { Words } from "./answers.ts";
import { CredentialJudge } from "../judge/credential-judge.ts";
import type { Dice } from "../generate/dice.ts";
import { fateOf, type Fate } from "./fate.ts";
import type { Flight } from "./flight.ts";
import type { Life } from "./life.ts";
import type { Sender, Surroundings } from "./network.ts";
import type { Happening, Scenario, Setup, Weather } from "./scenario.ts";
import { accountOf } from "./setup.ts";
import type { Story } from "../story/story.ts";
import { termsOf } from "./terms.ts";
import type { ViolationKind } from "../judge/violation.ts";

type Storm = Extract<Happening, { kind: "weather" }>;

/** What is asked of whoever sends. */
export type Inhabitant = Pick<Life, "setup"> & {
  readonly heard: Pick<Life["heard"], "hear" | "pauseBroken" | "loweredCaps">;
  tallyOf(upstream: string): { sent: number; ended: number };
};

export type TrafficParts = {
  readonly clock: VirtualClock;
  readonly scenario: Pick<Scenario, "credentials" | "roads">;
  readonly setups: readonly Setup[];
  readonly calmFromMs: number;
  readonly dice: Dice;
  readonly story: Story;
  /** The one of this number, where it lives. */
  lifeOf(number: number): Inhabitant | undefined;
  /** Of whoever lives now. */
  currentSetup(): Setup | undefined;
  violate(kind: ViolationKind, text: string): void;
};

/** What becomes of requests: the weather that they meet, who counts them, and what is held against them. */
export class Traffic implements Surroundings {
  readonly clock: VirtualClock;
  readonly dice: Dice;
  readonly #parts: TrafficParts;
  readonly #judges: ReadonlyMap<string, CredentialJudge>;
  readonly #roadDice: ReadonlyMap<string, Dice>;
  readonly #storms = new Set<Storm>();
  #sent = 0;
  #fingerprint = 0;

  constructor(parts: TrafficParts) {
    const { scenario, setups, dice } = parts;
    this.#parts = parts;
    this.clock = parts.clock;
    this.dice = dice.fork("lateness");
    this.#judges = new Map(scenario.credentials.map((each) => [each.id, new CredentialJudge(each, setups)]));
    const names = setups.flatMap(({ upstreams }) => upstreams.map(({ name }) => name));
    this.#roadDice = new Map(names.map((name) => [name, dice.fork(`road of ${name}`)]));
  }

  get requests(): number {
    return this.#sent;
  }

  /** The same for runs that sent the same requests at the same moments. */
  get fingerprint(): number {
    return this.#fingerprint;
  }

  begin(storm: Storm): void {
    this.#storms.add(storm);
    this.clock.after(storm.forMs, () => void this.#storms.delete(storm));
  }

  sent({ life: number, upstream, credential }: Sender): Flight {
    const life = this.#parts.lifeOf(number);
    const { name, budget } = upstream;
    const nowMs = this.clock.now();
    const terms = life === undefined ? undefined : termsOf(life.setup, credential);
    const account = life === undefined ? undefined : accountOf(life.setup, budget);
    if (life === undefined || terms === undefined || account === undefined) {
      throw new Error(`cannot send: life ${number} must be the one that runs, received a request of ${name}`);
    }
    this.#sent += 1;
    this.#fingerprint = (Math.imul(this.#fingerprint, 31) + Math.round(nowMs * 1_000)) >>> 0;
    life.tallyOf(name).sent += 1;
    const pausedUntilMs = life.heard.pauseBroken({ budget, upstream: name }, nowMs);
    if (pausedUntilMs !== undefined) {
      const earlyMs = Math.round(pausedUntilMs - nowMs);
      this.#parts.violate("pause", `${name} sends a request ${earlyMs} ms before the end of a pause`);
    }
    const loweredCaps = life.heard.loweredCaps(account.budget, nowMs);
    this.#parts.story.tell("request", () => `#${this.#sent} ${name} sends`);
    return {
      number: this.#sent,
      life: number,
      upstream: name,
      credential,
      budget,
      sentAtMs: nowMs,
      terms,
      loweredCaps,
    };
  }

  fateOf({ upstream, credential }: Sender, { terms }: Flight): Fate {
    const { name, timeoutMs } = upstream;
    const isCalm = this.clock.now() >= this.#parts.calmFromMs;
    const road = isCalm ? "calm" : (this.#parts.scenario.roads.get(name) ?? "quick");
    const weather = this.#weatherOver(name, credential);
    const isTalkative = name.endsWith("t");
    const circumstances = {
      weather,
      road,
      isTalkative,
      timeoutMs,
      terms,
      wallMs: this.clock.wallNow(),
    } as const;
    return fateOf(circumstances, this.#roadDice.get(name) ?? this.dice);
  }

  counted(flight: Flight): void {
    this.#parts.story.tell("request", () => `#${flight.number} is counted by ${flight.credential}`);
    const text = this.#judges.get(flight.credential)?.count(flight, this.clock.now());
    if (text !== undefined) this.#parts.violate("limit", text);
  }

  ended(flight: Flight, exchange: Exchange, words: Words): void {
    const end = exchange.kind === "answered" ? exchange.head.status : exchange.fault;
    this.#parts.story.tell("request", () => `#${flight.number} ends: ${end}`);
    const life = this.#parts.lifeOf(flight.life);
    if (life === undefined) return;
    life.tallyOf(flight.upstream).ended += 1;
    if (exchange.kind !== "answered") return;
    life.heard.hear(flight, words, accountOf(life.setup, flight.budget)?.budget, this.clock.now());
  }

  /** The owner's linger, which whoever configures it must know: at the sending, or now where it became less. */
  lingerOf({ terms, credential }: Flight): number {
    const setup = this.#parts.currentSetup();
    const now = setup === undefined ? undefined : termsOf(setup, credential);
    return Math.min(terms.lingerMs, now?.lingerMs ?? Infinity);
  }

  #weatherOver(upstream: string, credential: string): Weather | undefined {
    let weather: Weather | undefined;
    for (const storm of this.#storms) {
      if (storm.whom === upstream || storm.whom === credential) weather = storm.weather;
    }
    return weather;
  }
}
