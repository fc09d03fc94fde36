import type { Upstream } from "../../../src/kernel/config/config.ts";
import type { Exchange } from "../../../src/kernel/exchange/exchange.ts";
import type { VirtualClock } from "../../support/virtual/clock.ts";
import type { Words } from "./answers.ts";
import { CredentialJudge } from "../judge/credential-judge.ts";
import type { Dice } from "../generate/dice.ts";
import { fateOf, type Fate } from "./fate.ts";
import type { Flight } from "./flight.ts";
import type { Life } from "./life.ts";
import type { Sender, Surroundings } from "./network.ts";
import type { Disk } from "./disk.ts";
import type { Happening, Scenario, Setup, Weather } from "./scenario.ts";
import { accountOf } from "./setup.ts";
import type { Story } from "../story/story.ts";
import { termsOf } from "./terms.ts";
import type { ViolationKind } from "../judge/violation.ts";

/** So many of the upstreams are. */
const FAR = 0.3;

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
  readonly disk: Disk;
  violate(kind: ViolationKind, text: string): void;
};

/** What becomes of requests: the weather that they meet, who counts them, and what is held against them. */
export class Traffic implements Surroundings {
  readonly clock: VirtualClock;
  readonly dice: Dice;
  readonly #parts: TrafficParts;
  readonly #judges: ReadonlyMap<string, CredentialJudge>;
  readonly #roadDice: ReadonlyMap<string, Dice>;
  /** Of upstreams that are far: to connect takes them a while. */
  readonly #farDice: ReadonlyMap<string, Dice>;
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
    const connecting = names.map((name) => [name, dice.fork(`connections of ${name}`)] as const);
    this.#farDice = new Map(connecting.filter(([, own]) => own.chance(FAR)));
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

  connectMsOf({ name, timeoutMs }: Upstream): number {
    const dice = this.clock.now() < this.#parts.calmFromMs ? this.#farDice.get(name) : undefined;
    return dice?.pick([0, dice.between(0, timeoutMs / 2)]) ?? 0;
  }

  sent({ life: number, upstream, credentials, setup }: Sender): Flight {
    const life = this.#parts.lifeOf(number);
    const { name } = upstream;
    const nowMs = this.clock.now();
    if (life === undefined) {
      throw new Error(`cannot send: life ${number} must be the one that runs, received a request of ${name}`);
    }
    this.#sent += 1;
    this.#fingerprint = (Math.imul(this.#fingerprint, 31) + Math.round(nowMs * 1_000)) >>> 0;
    life.tallyOf(name).sent += 1;
    this.#parts.story.tell("request", () => `#${this.#sent} ${name} sends`);
    const [first, ...also] = upstream.budgets.map((budget, index) => {
      const pausedUntilMs = life.heard.pauseBroken({ budget, upstream: name }, nowMs);
      if (pausedUntilMs !== undefined) {
        const earlyMs = Math.round(pausedUntilMs - nowMs);
        this.#parts.violate("pause", `${name} sends a request ${earlyMs} ms before the end of a pause`);
      }
      const credential = credentials[index] ?? "";
      const terms = termsOf(life.setup, credential) ?? (setup && termsOf(setup, credential));
      const account = accountOf(life.setup, budget) ?? (setup && accountOf(setup, budget));
      if (terms === undefined || account === undefined)
        throw new Error(`cannot send: ${name} must draw on known budgets, received ${budget}`);
      const loweredCaps = life.heard.loweredCaps(account.budget, nowMs);
      const flight = { number: this.#sent, life: number, upstream: name, credential, budget };
      return { ...flight, sentAtMs: nowMs, terms, loweredCaps, also: [] };
    });
    if (first === undefined) throw new Error(`cannot send: ${name} must draw on a budget`);
    return { ...first, also };
  }

  fateOf({ life, upstream, credentials }: Sender, flight: Flight): Fate {
    const { terms } = flight;
    const { name, timeoutMs } = upstream;
    const isCalm = this.clock.now() >= this.#parts.calmFromMs;
    const road = isCalm ? "calm" : (this.#parts.scenario.roads.get(name) ?? "quick");
    const weather = this.#weatherOver(name, credentials);
    const isTalkative = name.endsWith("t");
    const circumstances = {
      weather,
      road,
      isTalkative,
      timeoutMs,
      terms,
      wallMs: this.clock.wallNow(),
    } as const;
    const fate = fateOf(circumstances, this.#roadDice.get(name) ?? this.dice);
    if (fate.kind === "sent") this.#expectNoted([flight, ...flight.also], this.#parts.lifeOf(life)?.setup);
    return fate;
  }

  counted(flight: Flight): void {
    this.#parts.story.tell("request", () => `#${flight.number} is counted by ${flight.credential}`);
    for (const each of [flight, ...flight.also]) {
      const text = this.#judges.get(each.credential)?.count(each, this.clock.now());
      if (text !== undefined) this.#parts.violate("limit", text);
    }
  }

  ended(flight: Flight, exchange: Exchange, words: Words): void {
    const end = exchange.kind === "answered" ? exchange.head.status : exchange.fault;
    this.#parts.story.tell("request", () => `#${flight.number} ends: ${end}`);
    const life = this.#parts.lifeOf(flight.life);
    if (life === undefined) return;
    life.tallyOf(flight.upstream).ended += 1;
    if (exchange.kind !== "answered") return;
    const flights = [flight, ...flight.also];
    const { limit } = words;
    const named = flights.filter(
      ({ terms }) =>
        limit !== undefined &&
        terms.rates.some(({ requests, perMs }) => requests === limit.requests && perMs === limit.perMs),
    );
    const drawing = ({ budget }: Flight): number =>
      life.setup.upstreams.filter(({ budgets }) => budgets.includes(budget)).length;
    // It is said of the one whose limit is told, or on which the fewest draw.
    const meant = (named.length > 0 ? named : flights).reduce((a, b) => (drawing(b) < drawing(a) ? b : a));
    for (const each of flights) {
      const { pause } = words;
      const said = {
        ...(pause !== undefined && (each === meant || pause.scope === "upstream") && { pause }),
        ...(limit !== undefined && each === meant && { limit }),
      };
      life.heard.hear(each, said, accountOf(life.setup, each.budget)?.budget, this.clock.now());
    }
  }

  /** The owner's linger, which whoever configures it must know: at the sending, or now where it became less. */
  lingerOf(flight: Flight): number {
    const setup = this.#parts.currentSetup();
    const lingers = [flight, ...flight.also].map(({ terms, credential }) => {
      const now = setup === undefined ? undefined : termsOf(setup, credential);
      return Math.min(terms.lingerMs, now?.lingerMs ?? Infinity);
    });
    return Math.min(...lingers);
  }

  #expectNoted(flights: readonly Flight[], setup: Setup | undefined): void {
    for (const { budget } of flights) {
      if (setup === undefined || accountOf(setup, budget)?.budget.quota === undefined) continue;
      const missing = this.#parts.disk.sent(budget);
      if (missing !== undefined) this.#parts.violate("quota", missing);
    }
  }

  #weatherOver(upstream: string, credentials: readonly string[]): Weather | undefined {
    let weather: Weather | undefined;
    for (const storm of this.#storms) {
      if (storm.whom === upstream || credentials.includes(storm.whom)) weather = storm.weather;
    }
    return weather;
  }
}
